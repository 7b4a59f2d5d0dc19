//! Ids as the API makes them, from a generator that the caller seeds.

/// Base 58: no letter that is taken for another.
const ALPHABET: &[u8; 58] = b"123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";

/// `prefix` and so many random characters of base 58.
fn id(prefix: &str, len: usize, rng: &mut fastrand::Rng) -> String {
    let mut out = String::with_capacity(prefix.len() + len);
    out.push_str(prefix);
    out.extend((0..len).filter_map(|_| ALPHABET.get(rng.usize(..ALPHABET.len())).copied().map(char::from)));
    out
}

/// A request id.
pub(super) fn request(rng: &mut fastrand::Rng) -> String {
    id("req_011C", 20, rng)
}

/// A message id.
pub(super) fn message(rng: &mut fastrand::Rng) -> String {
    id("msg_01", 22, rng)
}

/// An id of a tool call.
pub(super) fn tool_call(rng: &mut fastrand::Rng) -> String {
    id("toolu_01", 22, rng)
}

/// An id of a message batch.
pub(super) fn batch(rng: &mut fastrand::Rng) -> String {
    id("msgbatch_01", 22, rng)
}

/// An organisation id: a random UUID.
pub(super) fn organization(rng: &mut fastrand::Rng) -> String {
    let bits = rng.u128(..);
    let (a, b, c) = ((bits >> 96) as u32, (bits >> 80) as u16, (bits >> 68) as u16 & 0x0fff);
    let (d, e) = ((bits >> 48) as u16 & 0x3fff | 0x8000, bits as u64 & 0xffff_ffff_ffff);
    format!("{a:08x}-{b:04x}-4{c:03x}-{d:04x}-{e:012x}")
}

/// The id of an organisation's default workspace.
pub(super) fn workspace(organization: &str) -> String {
    let name = organization.bytes().fold(0, |name: u64, byte| mix(name ^ u64::from(byte)));
    id("wrkspc_01", 22, &mut rng(name, 0, 0))
}

/// A generator for one thing among many: the same for the same seed and name, and unlike those of its neighbours.
pub(super) fn rng(seed: u64, name: u64, draw: u64) -> fastrand::Rng {
    fastrand::Rng::with_seed(mix(mix(mix(seed) ^ name) ^ draw))
}

/// The finaliser of SplitMix64.
fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_have_the_shape_of_the_apis_and_repeat_by_seed() {
        let make =
            |seed| (request(&mut rng(seed, 1, 0)), message(&mut rng(seed, 2, 0)), organization(&mut rng(seed, 3, 0)));
        let (request_id, message_id, organization_id) = make(1);
        assert!(request_id.starts_with("req_011C") && request_id.len() == 28);
        assert!(message_id.starts_with("msg_01") && message_id.len() == 28);
        assert_eq!(organization_id.len(), 36);
        assert_eq!(organization_id.as_bytes()[14], b'4');
        assert_eq!(make(1), (request_id.clone(), message_id, organization_id));
        assert_ne!(make(2).0, request_id);
    }
}
