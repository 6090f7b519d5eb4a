//! `tardy serve` and `tardy push`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;
use tardy_recipe::values::PositiveDuration;

/// `tardy serve`.
#[derive(Debug, Args)]
pub struct ServeArgs {
    /// Archive: a directory that 'tardy archive add' makes. A new one is made.
    pub archive: PathBuf,
    /// Listen on this address.
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:8080")]
    pub listen: SocketAddr,
    /// Answer requests to this name too, such as that of a proxy. Others than localhost and addresses in numbers are refused. May be repeated.
    #[arg(long = "host", value_name = "NAME")]
    pub hosts: Vec<String>,
    /// Let anyone read who reaches the server. This is the default where only this machine reaches it.
    #[arg(long, conflicts_with = "private")]
    pub public: bool,
    /// Let only holders of a token read ('tardy archive token'). This is the default where other machines reach the server.
    #[arg(long)]
    pub private: bool,
}

/// `tardy push`.
#[derive(Debug, Args)]
pub struct PushArgs {
    /// Where to push to: http://HOST:PORT or https://HOST of 'tardy serve', or ssh://USER@HOST/DIRECTORY of an archive.
    #[arg(value_name = "URL")]
    pub target: String,
    /// Run files, and directories of them. Without any, runs that wait from before are pushed.
    #[arg(value_name = "RUN|DIR")]
    pub runs: Vec<PathBuf>,
    /// File with the token of 'tardy archive token' in its first line [default: the variable TARDY_TOKEN]
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
    /// Directory in which runs wait until they are pushed [default: /var/lib/tardy/push, or that of the user's state]
    #[arg(long, value_name = "DIR")]
    pub spool: Option<PathBuf>,
    /// Try again for this long if the other side does not answer. Runs wait in the spool afterwards.
    #[arg(long, value_name = "TIME")]
    pub wait: Option<PositiveDuration>,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}
