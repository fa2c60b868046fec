//! The program that applies a jq filter, in a process of its own: a filter may run for ever, recurse without end or fill
//! the memory, and then this process is what ends.
//!
//! Standard input: a line `FILTER_BYTES INPUT_BYTES`, the filter, the input (JSON texts, one after the other; none at all
//! stand for `null`). It then stays open; when it is closed, the owner has gone, and so has the need. Standard output: the
//! results, one a line. The exit status says how it went, see the constants; what is wrong is on standard error.
//!
//! A filter reaches nothing but its input: no environment, no files, no modules, no local time zone, no exit of its own.

use jaq_core::data::JustLut;
use jaq_core::load::{Arena, File, Loader};
use jaq_core::{Compiler, Ctx, Filter, Vars, load};
use jaq_json::{Val, read};
use rustix::process::{Resource, Rlimit, setrlimit};
use std::io::{self, BufRead, Read, Write};
use std::panic::catch_unwind;

/// All results are written.
pub(crate) const DONE: i32 = 0;
/// The filter, the input or the two together are wrong; standard error says what.
pub(crate) const WRONG: i32 = 1;
/// There were more results than are written.
pub(crate) const FULL: i32 = 3;
/// A defect of the filter's interpreter.
pub(crate) const PANICKED: i32 = 4;
/// The owner has gone, or this was started by somebody else.
const ALONE: u8 = 107;

/// Bytes of results written at most.
pub(crate) const RESULT_BYTES: usize = 256 * 1024;
/// Memory, in bytes, with what the program itself takes.
pub(crate) const MEMORY: u64 = 1024 * 1024 * 1024;
/// Processor time, should the owner not end it before.
const CPU_S: u64 = 20;
const STACK: usize = 128 * 1024 * 1024;

/// What a filter has no business with.
const LEFT_OUT: [&str; 7] =
    ["env", "halt", "halt_error", "localtime", "strflocaltime", "input_filename", "get_search_list"];

/// What jq has beside that: `@csv` and `@tsv`.
const ROWS: &str = include_str!("rows.jq");

/// The filter program's `main`, in a process that ends with it.
pub fn filter_exit() -> ! {
    std::process::exit(serve().into())
}

/// The exit status, where no filter was applied: one that was ends the process.
fn serve() -> u8 {
    let limit = |resource, most| setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) });
    let limited =
        limit(Resource::As, MEMORY).and_then(|()| limit(Resource::Cpu, CPU_S)).and_then(|()| limit(Resource::Core, 0));
    let mut stdin = io::stdin().lock();
    let (Ok(()), Ok((filter, input))) = (limited, request(&mut stdin)) else {
        eprintln!("the filter program is started by Mainpath itself");
        return ALONE;
    };
    let work = move || {
        let status = catch_unwind(|| match apply(&filter, &input) {
            Ok(status) => status,
            Err(problem) => {
                eprint!("{problem}");
                WRONG
            }
        });
        std::process::exit(status.unwrap_or(PANICKED));
    };
    if let Err(error) = std::thread::Builder::new().stack_size(STACK).spawn(work) {
        eprint!("no thread could be started: {error}");
        return WRONG.unsigned_abs() as u8;
    }
    let _ = io::copy(&mut stdin, &mut io::sink());
    ALONE
}

fn request(from: &mut impl BufRead) -> io::Result<(String, Vec<u8>)> {
    let mut head = String::new();
    from.take(64).read_line(&mut head)?;
    let sizes: Option<Vec<usize>> = head.split_whitespace().map(|word| word.parse().ok()).collect();
    let Some([filter, input]) = sizes.as_deref() else { return Err(io::ErrorKind::InvalidInput.into()) };
    let mut read = |size: usize| {
        let mut bytes = vec![0; size];
        from.read_exact(&mut bytes).map(|()| bytes)
    };
    let (filter, input) = (read(*filter)?, read(*input)?);
    Ok((String::from_utf8(filter).map_err(io::Error::other)?, input))
}

/// Why a filter has no results, for the model.
#[derive(Debug, thiserror::Error)]
enum FilterError {
    #[error("The input is not JSON: {0}.")]
    Input(String),
    #[error("The filter is wrong in line {line}, column {column}, at {found}: {problem}.")]
    Syntax { line: usize, column: usize, found: String, problem: String },
    #[error("The filter is wrong.")]
    Unreadable,
    /// Its own error, raised for an input.
    #[error("The filter failed: {0}.")]
    Raised(String),
    #[error("The filter ended itself.")]
    Halted,
}

/// Writes the results. Errors: what is wrong, for the model.
fn apply(code: &str, input: &[u8]) -> Result<i32, FilterError> {
    let arena = Arena::default();
    let filter = compile(&arena, code)?;
    let inputs = match input.iter().all(u8::is_ascii_whitespace) {
        true => vec![Val::Null],
        false => {
            read::parse_many(input).collect::<Result<_, _>>().map_err(|error| FilterError::Input(error.to_string()))?
        }
    };
    let mut out = io::stdout().lock();
    let mut written = 0;
    for input in inputs {
        let ctx = Ctx::<JustLut<Val>>::new(&filter.lut, Vars::new([]));
        for result in filter.id.run((ctx, input)) {
            let result = result.map_err(|error| match error.get_err() {
                Ok(error) => FilterError::Raised(error.to_string()),
                Err(_) => FilterError::Halted,
            })?;
            let line = format!("{result}\n");
            let room = RESULT_BYTES - written;
            // Where the owner has gone, nobody reads why.
            let _ = out.write_all(&line.as_bytes()[..line.len().min(room)]);
            if line.len() > room {
                return Ok(FULL);
            }
            written += line.len();
        }
    }
    Ok(DONE)
}

fn compile<'a>(arena: &'a Arena, code: &'a str) -> Result<Filter<JustLut<Val>>, FilterError> {
    let defs = jaq_core::defs().chain(jaq_std::defs()).chain(jaq_json::defs());
    let rows = load::parse(ROWS, |parser| parser.defs()).unwrap_or_default();
    let defs = defs.chain(rows);
    let defs = defs.filter(|def| !LEFT_OUT.contains(&def.name));
    let funs = jaq_core::funs().chain(jaq_std::funs()).chain(jaq_json::funs());
    let funs = funs.filter(|(name, ..)| !LEFT_OUT.contains(name));
    let wrong = |at: &str, problem: String| {
        let before = code.get(..at.as_ptr().addr().wrapping_sub(code.as_ptr().addr())).unwrap_or(code);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or(before).chars().count() + 1;
        let found: String = at.chars().take(20).collect();
        let found = if found.is_empty() { "the end".into() } else { format!("{found:?}") };
        FilterError::Syntax { line, column, found, problem }
    };
    let unloadable = |errors: load::Errors<&str, ()>| {
        let first = errors.into_iter().find_map(|(_, error)| match error {
            load::Error::Io(errors) => errors.into_iter().next().map(|(at, why)| wrong(at, why)),
            load::Error::Lex(errors) => {
                errors.into_iter().next().map(|(expected, at)| wrong(at, format!("expected a {}", expected.as_str())))
            }
            load::Error::Parse(errors) => {
                errors.into_iter().next().map(|(expected, at)| wrong(at, format!("expected {}", expected.as_str())))
            }
        });
        first.unwrap_or(FilterError::Unreadable)
    };
    let modules = Loader::new(defs).load(arena, File { code, path: () }).map_err(unloadable)?;
    load::import(&modules, |_| Err("a filter cannot read files".into())).map_err(unloadable)?;
    Compiler::default().with_funs(funs).compile(modules).map_err(|errors| {
        let first = errors.into_iter().flat_map(|(_, errors)| errors).next();
        first.map_or(FilterError::Unreadable, |(at, kind)| wrong(at, format!("there is no such {}", kind.as_str())))
    })
}
