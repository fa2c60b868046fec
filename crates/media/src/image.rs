//! Images, made to fit what a vendor takes.

use crate::guard::guarded;
use crate::kind::{Kind, sniff};
use crate::problem::one_line;
use crate::{Problem, Takes};
use image::codecs::jpeg::JpegEncoder;
use image::imageops::FilterType;
use image::metadata::Orientation;
use image::{DynamicImage, ImageDecoder, ImageFormat, ImageReader, Limits};
use std::io::Cursor;

/// The most pixels that are decoded: more than any camera makes, and 400 MB at four bytes each.
const MOST_PIXELS: u64 = 100_000_000;

/// The most memory that a decoder may take, in bytes.
const MOST_MEMORY: u64 = 512 << 20;

/// The quality of JPEG where an image must be made smaller: no loss that a model would notice.
const QUALITY: u8 = 85;

/// The image as the vendor takes it, and its media type. Bytes that fit are returned as they came, but were decoded once, so
/// that a damaged image is found here and not by the vendor.
///
/// What does not fit is turned upright (EXIF), scaled down with its proportions kept, and encoded again: JPEG stays JPEG,
/// everything else becomes PNG, or JPEG where PNG is too large. Only the first picture of an animation is kept then.
/// Errors: it is no image, is damaged, has too many pixels, or cannot be made to fit.
pub fn fit_image(bytes: Vec<u8>, takes: &Takes) -> Result<(Vec<u8>, &'static str), Problem> {
    let takes = *takes;
    guarded(Problem::BadImage, move || fit(bytes, &takes))
}

fn fit(bytes: Vec<u8>, takes: &Takes) -> Result<(Vec<u8>, &'static str), Problem> {
    let Some((Kind::Image, media_type)) = sniff(&bytes) else { return Err(Problem::Unknown) };
    let (picture, turn) = decode(&bytes, media_type)?;
    let fits = picture.width().max(picture.height()) <= takes.image_edge && bytes.len() <= takes.image_bytes;
    if fits && takes.images.contains(&media_type) {
        return Ok((bytes, media_type));
    }
    drop(bytes);
    smaller(picture, turn, media_type == "image/jpeg", takes)
}

/// Whether an image of this type can be decoded. Errors: it is damaged, or has too many pixels.
pub(crate) fn check_image(bytes: Vec<u8>, media_type: &'static str) -> Result<(), Problem> {
    guarded(Problem::BadImage, move || decode(&bytes, media_type).map(|_| ()))
}

fn decode(bytes: &[u8], media_type: &str) -> Result<(DynamicImage, Orientation), Problem> {
    let damaged = |error: image::ImageError| Problem::BadImage(one_line(&error));
    let format = ImageFormat::from_mime_type(media_type).ok_or(Problem::Unknown)?;
    let mut limits = Limits::default();
    limits.max_alloc = Some(MOST_MEMORY);
    let mut reader = ImageReader::with_format(Cursor::new(bytes), format);
    reader.limits(limits);
    let mut decoder = reader.into_decoder().map_err(damaged)?;
    let (width, height) = decoder.dimensions();
    if u64::from(width) * u64::from(height) > MOST_PIXELS {
        return Err(Problem::HugeImage { width, height });
    }
    // The decoder of JPEG fills what is missing with grey.
    if format == ImageFormat::Jpeg && !has_end(bytes) {
        return Err(Problem::BadImage("its end is missing".into()));
    }
    let turn = decoder.orientation().map_err(damaged)?;
    Ok((DynamicImage::from_decoder(decoder).map_err(damaged)?, turn))
}

/// Whether a JPEG has the marker of its end behind its first scan. A thumbnail's end lies before that, in a segment.
fn has_end(bytes: &[u8]) -> bool {
    let mut rest = bytes.get(2..).unwrap_or_default();
    while let [0xFF, marker, after @ ..] = rest {
        if *marker == 0xDA {
            return after.windows(2).any(|pair| pair == [0xFF, 0xD9]);
        }
        let length = match (marker, after) {
            // A byte of padding.
            (0xFF, _) => {
                rest = rest.get(1..).unwrap_or_default();
                continue;
            }
            // Markers without a segment.
            (0x01 | 0xD0..=0xD8, _) => 0,
            (_, [high, low, ..]) => usize::from(u16::from_be_bytes([*high, *low])),
            (_, _) => return false,
        };
        rest = after.get(length..).unwrap_or_default();
    }
    false
}

fn smaller(
    picture: DynamicImage,
    turn: Orientation,
    is_photo: bool,
    takes: &Takes,
) -> Result<(Vec<u8>, &'static str), Problem> {
    let mut edge = picture.width().max(picture.height()).min(takes.image_edge);
    // Scaled first: there is less to turn then, and the edges are the same.
    let mut picture = scaled(picture, edge);
    picture.apply_orientation(turn);
    loop {
        if !is_photo {
            let png = encoded(&picture, ImageFormat::Png)?;
            if png.len() <= takes.image_bytes {
                return Ok((png, "image/png"));
            }
        }
        // JPEG has no transparency: what is transparent becomes what lies below it, so only opaque images go this way.
        if is_photo || !has_transparency(&picture) {
            let jpeg = encoded(&picture, ImageFormat::Jpeg)?;
            if jpeg.len() <= takes.image_bytes {
                return Ok((jpeg, "image/jpeg"));
            }
        }
        if edge < 64 {
            return Err(Problem::TooLarge(takes.image_bytes as u64));
        }
        edge = edge / 4 * 3;
        picture = scaled(picture, edge);
    }
}

/// The picture with no edge longer than this.
fn scaled(picture: DynamicImage, edge: u32) -> DynamicImage {
    let longest = picture.width().max(picture.height());
    if longest <= edge {
        return picture;
    }
    // Averaging is fast and good for large steps; the last one is filtered, so that small writing stays readable.
    let picture = if longest > 2 * edge { picture.thumbnail(2 * edge, 2 * edge) } else { picture };
    picture.resize(edge, edge, FilterType::CatmullRom)
}

fn has_transparency(picture: &DynamicImage) -> bool {
    picture.color().has_alpha() && picture.to_rgba8().pixels().any(|pixel| pixel.0[3] < 255)
}

fn encoded(picture: &DynamicImage, format: ImageFormat) -> Result<Vec<u8>, Problem> {
    let mut bytes = Vec::new();
    let written = match format {
        ImageFormat::Jpeg => {
            let encoder = JpegEncoder::new_with_quality(&mut bytes, QUALITY);
            picture.to_rgb8().write_with_encoder(encoder)
        }
        other => {
            // Sixteen bits a channel are more than a model sees.
            let plain: DynamicImage = match picture.color().has_alpha() {
                true => picture.to_rgba8().into(),
                false => picture.to_rgb8().into(),
            };
            plain.write_to(&mut Cursor::new(&mut bytes), other)
        }
    };
    written.map_err(|error| Problem::BadImage(one_line(&error)))?;
    Ok(bytes)
}
