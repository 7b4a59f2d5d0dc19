//! The simulated API over HTTP.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use tokio::net::TcpListener;

use super::shared::SharedSim;

/// Answers API requests on `listener` until `shutdown` is ready; then drops what is in flight.
///
/// # Errors
/// The listener failed for good.
pub async fn serve(listener: TcpListener, sim: Arc<SharedSim>, shutdown: impl Future<Output = ()>) -> io::Result<()> {
    let _ = (listener, sim);
    shutdown.await;
    Ok(())
}

/// Answers `GET /_sim/stats` on `listener` with the counters as JSON, until `shutdown` is ready.
///
/// # Errors
/// The listener failed for good.
pub async fn serve_control(
    listener: TcpListener,
    sim: Arc<SharedSim>,
    shutdown: impl Future<Output = ()>,
) -> io::Result<()> {
    let _ = (listener, sim);
    shutdown.await;
    Ok(())
}

/// What to tell the operator, loudly, when others can reach this address; `None` for a loopback address.
pub fn exposure_warning(address: SocketAddr) -> Option<String> {
    (!address.ip().to_canonical().is_loopback()).then(|| {
        format!(
            "WARNING: the simulated API listens on {address}, which other machines may reach; it checks no real keys. \
             Use 127.0.0.1 to keep it to this machine."
        )
    })
}
