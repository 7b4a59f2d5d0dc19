//! Which requests make a sub-batch: split by count and by bytes, in the order of the input.

use crate::model::RequestNo;

/// The most requests that the API takes in a batch.
pub(super) const MAX_COUNT: u32 = 100_000;

/// The longest body of a create that is sent: 95 % of the API's 256 MB, taken as the smaller of the two meanings of MB.
pub(super) const MAX_BYTES: u64 = 256_000_000 / 100 * 95;

/// The longest single request that the API takes. One above it would have the whole sub-batch refused.
pub(super) const MAX_ROW: u64 = 32_000_000;

/// What the wire form of a request may have more than its line in the input: the wire id in place of the user's, and a comma.
pub(super) const ROW_OVERHEAD: u64 = 32;

/// `{"requests":[` and `]}`.
pub(super) const FRAME: u64 = 15;

/// How sub-batches are limited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Limits {
    /// Most requests, 1..=[`MAX_COUNT`].
    pub(super) count: u32,
    /// Most bytes.
    pub(super) bytes: u64,
}

impl Limits {
    /// Sub-batches of so many requests.
    pub(super) fn of_size(count: u32) -> Limits {
        Limits { count: count.clamp(1, MAX_COUNT), bytes: MAX_BYTES }
    }
}

/// Requests, split.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Split {
    /// The members of each sub-batch, in the order of the input.
    pub(super) sub_batches: Vec<Vec<RequestNo>>,
    /// Requests that are too long for any: they go alone, on the sync path, and fail alone.
    pub(super) giants: Vec<RequestNo>,
}

/// Splits requests, given with the length of their lines.
pub(super) fn split(requests: impl IntoIterator<Item = (RequestNo, u64)>, limits: Limits) -> Split {
    let mut split = Split::default();
    let (mut current, mut bytes) = (Vec::new(), FRAME);
    for (no, len) in requests {
        let row = len + ROW_OVERHEAD;
        if len > MAX_ROW || FRAME + row > limits.bytes {
            split.giants.push(no);
            continue;
        }
        let full = current.len() as u64 >= u64::from(limits.count) || bytes + row > limits.bytes;
        if full && !current.is_empty() {
            split.sub_batches.push(std::mem::take(&mut current));
            bytes = FRAME;
        }
        current.push(no);
        bytes += row;
    }
    if !current.is_empty() {
        split.sub_batches.push(current);
    }
    split
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn numbered(lens: &[u64]) -> Vec<(RequestNo, u64)> {
        lens.iter().enumerate().map(|(no, len)| (RequestNo(no as u32), *len)).collect()
    }

    fn sizes(split: &Split) -> Vec<usize> {
        split.sub_batches.iter().map(Vec::len).collect()
    }

    #[test]
    fn b13_one_request_more_than_the_api_takes_makes_two_sub_batches() {
        let split = split(numbered(&vec![100; 100_001]), Limits::of_size(1_000_000));
        assert_eq!(sizes(&split), [100_000, 1]);
    }

    #[test]
    fn b13_bytes_split_as_well() {
        let split = split(numbered(&[20_000_000; 30]), Limits::of_size(1_000));
        assert_eq!(sizes(&split), [12, 12, 6]);
    }

    #[test]
    fn b13_a_giant_is_alone_and_takes_nobody_with_it() {
        let split = split(numbered(&[100, 33_000_000, 100]), Limits::of_size(1_000));
        assert_eq!(split.giants, [RequestNo(1)]);
        assert_eq!(split.sub_batches, [[RequestNo(0), RequestNo(2)]]);
    }

    #[test]
    fn b14_nothing_to_send_makes_no_sub_batch() {
        assert_eq!(split(Vec::new(), Limits::of_size(1_000)), Split::default());
    }

    proptest! {
        #[test]
        fn every_request_is_in_exactly_one_place_in_order_and_no_limit_is_passed(
            lens in prop::collection::vec(0_u64..40_000, 0..200),
            count in 1_u32..20,
            bytes in 100_u64..100_000,
        ) {
            let limits = Limits { count, bytes };
            let split = split(numbered(&lens), limits);
            let mut all: Vec<u32> = split.sub_batches.iter().flatten().chain(&split.giants).map(|no| no.0).collect();
            all.sort_unstable();
            prop_assert_eq!(all, (0..lens.len() as u32).collect::<Vec<_>>());
            for members in &split.sub_batches {
                prop_assert!(!members.is_empty() && members.len() <= count as usize);
                prop_assert!(members.is_sorted());
                let size: u64 = members.iter().map(|no| lens[no.ix()] + ROW_OVERHEAD).sum();
                prop_assert!(FRAME + size <= bytes);
            }
        }
    }
}
