//! How many processors this process may use: affinity and CPU quota.
