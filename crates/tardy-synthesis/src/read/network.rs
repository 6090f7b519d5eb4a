//! Instances from switch files.
