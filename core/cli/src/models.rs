//! `gvl-lab models`: what can stand in a file's `[[model]]`.

/// The listing, as text.
pub fn listing() -> String {
    gvl_lab::model::listing()
}
