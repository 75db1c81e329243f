//! Prints the path of the protocol buffer compiler that the lance crates need to build.
//!
//! A fresh machine has no `protoc`; the `protoc-bin-vendored` crate carries one. The build
//! scripts run this first and pass the path on in the environment variable `PROTOC`.

fn main() {
    match protoc_bin_vendored::protoc_bin_path() {
        Ok(path) => println!("{}", path.display()),
        Err(error) => {
            eprintln!(
                "no protoc for this platform: {error}; install one and set PROTOC to its path"
            );
            std::process::exit(1);
        }
    }
}
