//! One file per subcommand, thin.
