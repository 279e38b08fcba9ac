//! Descriptions of networks by others, read as a `rats.fabric/1` network.
