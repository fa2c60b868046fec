//! The filter program of `json_transform` as a program of its own, for tests.

fn main() {
    mainpath_tools::filter_exit()
}
