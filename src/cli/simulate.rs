//! `fandeck simulate`: the simulated API as a server.

use std::net::SocketAddr;

use clap::Args;

use tokio::net::TcpListener;

use crate::sim::{Scenario, SharedSim, exposure_warning, serve, serve_control};

use super::failure::{Failure, Outcome};
use super::out;
use super::runtime::runtime;
use super::signals::Signals;

/// `fandeck simulate`.
#[derive(Debug, Args)]
pub(crate) struct SimulateArgs {
    /// Address to listen on
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8787")]
    pub listen: String,
    /// Address of the statistics; without it, they are not served
    #[arg(long, value_name = "ADDR")]
    pub control: Option<String>,
    /// Scenario, by name or by file
    #[arg(long, value_name = "NAME|FILE", default_value = "calm")]
    pub scenario: String,
    /// How many times faster than real its clock runs
    #[arg(long, value_name = "X", default_value_t = 1.0)]
    pub time_scale: f64,
    /// Seed of everything that is drawn by lot
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
}

/// Serves until a signal ends it.
pub(crate) fn simulate(args: &SimulateArgs) -> Outcome {
    let scenario = Scenario::load(&args.scenario).map_err(Failure::usage)?;
    let time_scale = time_scale(args.time_scale)?;
    runtime()?.block_on(async {
        // Before the address is told: whoever reads it may end the server at once.
        let mut signals = Signals::listen()?;
        let listener = listen(&args.listen).await?;
        let control = match &args.control {
            Some(address) => Some(listen(address).await?),
            None => None,
        };
        let sim = SharedSim::new(scenario.clone(), args.seed, time_scale);
        let address = local(&listener)?;
        out::print(&format!("fandeck simulate: http://{address} {}: {}\n", args.scenario, scenario.summary))?;
        for org in &scenario.orgs {
            out::print(&format!("  key {} is org {}\n", org.key.expose(), org.label))?;
        }
        if scenario.takes_any_key() {
            out::print(
                "  any other key is an org of its own, but for sim-401, sim-403, sim-429, sim-500 and sim-529,\n",
            )?;
            out::print("  alone or with -something after it: these get that status, whatever they ask\n")?;
        }
        let mut exposed = exposure_warning(address);
        let served = serve(listener, sim.clone(), std::future::pending());
        if let Some(control) = control {
            let address = local(&control)?;
            out::print(&format!(
                "  statistics at http://{address}/_sim/stats, batches at http://{address}/_sim/batches\n"
            ))?;
            exposed = exposed.or_else(|| exposure_warning(address));
            tokio::spawn(serve_control(control, sim, std::future::pending()));
        }
        if let Some(warning) = exposed {
            out::say(&warning);
        }
        tokio::select! {
            () = served => Ok(0),
            _ = signals.wait() => Ok(0),
        }
    })
}

/// A factor that makes sense.
pub(crate) fn time_scale(scale: f64) -> Result<f64, Failure> {
    if scale.is_finite() && scale > 0.0 && scale <= 1e6 {
        Ok(scale)
    } else {
        Err(Failure::usage(format!("--time-scale {scale}: a number above 0, up to 1000000, is allowed")))
    }
}

async fn listen(address: &str) -> Result<TcpListener, Failure> {
    let parsed: SocketAddr = address.parse().map_err(|_| {
        Failure::usage(format!("{address} is not an address to listen on; write 127.0.0.1:8787, or port 0 for any"))
    })?;
    TcpListener::bind(parsed).await.map_err(|error| {
        Failure::usage(format!("failed to listen on {address}: {error}; name another with --listen or --control"))
    })
}

fn local(listener: &TcpListener) -> Result<SocketAddr, Failure> {
    listener.local_addr().map_err(|error| Failure::internal(format!("failed to tell the port: {error}")))
}
