//! The experiments of `gvl-lab compare`, as files.

/// Name and text of each.
pub const EXPERIMENTS: &[(&str, &str)] = &[
    ("compare/io.toml", include_str!("compare/io.toml")),
    ("compare/cpu.toml", include_str!("compare/cpu.toml")),
];
