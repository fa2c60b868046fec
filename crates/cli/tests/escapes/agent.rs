//! The same by way of an agent: what its model has `bash` do is held as `mainpath sandbox` holds it.

use crate::table::{Way, all_fail};
use crate::{files, kernel, network, own, process};

#[test]
fn no_file_is_reached_by_an_agent() {
    all_fail(&[files::CHANGES, files::READS, files::PIPES, own::OWN].map(|table| (Way::Agent, table)));
}

#[test]
fn no_process_and_no_secret_is_reached_by_an_agent() {
    let tables = [process::OTHERS, process::SECRETS, process::PRIVILEGES, process::SHARED];
    all_fail(&tables.map(|table| (Way::Agent, table)));
}

#[test]
fn neither_the_host_nor_the_kernel_is_reached_by_an_agent() {
    let tables = [network::ADDRESSES, network::LOCAL, network::KINDS, kernel::CALLS, kernel::NAMESPACES];
    all_fail(&tables.map(|table| (Way::Agent, table)));
}
