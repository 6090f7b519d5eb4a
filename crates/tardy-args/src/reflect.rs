//! `tardy reflect`.

use clap::Args;
use tardy_recipe::values::by_name;
use tardy_record::plan::Protocol;

/// `tardy reflect`.
#[derive(Debug, Args)]
pub struct ReflectArgs {
    /// What to return: udp, ethernet or ethercat.
    #[arg(long, value_name = "PROTOCOL", value_parser = by_name::<Protocol>, default_value = "udp")]
    pub protocol: Protocol,
    /// UDP port.
    #[arg(long, value_name = "PORT", default_value_t = 7, value_parser = clap::value_parser!(u16).range(1..))]
    pub port: u16,
    /// Link of --protocol ethernet or ethercat.
    #[arg(long, value_name = "LINK")]
    pub link: Option<String>,
    /// Real-time priority of the thread that answers; 0 for ordinary scheduling.
    #[arg(long, value_name = "PRIORITY", default_value_t = 90, value_parser = clap::value_parser!(u32).range(0..=99))]
    pub priority: u32,
}
