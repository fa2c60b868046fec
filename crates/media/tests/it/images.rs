//! Images that fit, that are made to fit, and that cannot be.

use crate::support::*;
use image::codecs::gif::GifEncoder;
use image::{DynamicImage, Frame, GenericImageView, ImageFormat, Rgba, RgbaImage};
use mainpath_media::{Problem, Takes, Vendor, fit_image};

/// Small limits: a large picture takes long to make.
fn small(edge: u32, bytes: usize) -> Takes {
    Takes { image_edge: edge, image_bytes: bytes, ..Vendor::Anthropic.takes() }
}

fn size(bytes: &[u8]) -> (u32, u32) {
    image::load_from_memory(bytes).unwrap().dimensions()
}

fn is_red(picture: &DynamicImage, x: u32, y: u32) -> bool {
    let [red, green, blue, _] = picture.get_pixel(x, y).0;
    red > 200 && green < 60 && blue < 60
}

/// A JPEG whose EXIF says how it is to be turned (TIFF 6.0, tag 0x0112).
fn turned(picture: &DynamicImage, orientation: u8) -> Vec<u8> {
    let jpeg = encoded(picture, ImageFormat::Jpeg);
    let mut exif = b"Exif\0\0MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0".to_vec();
    exif.extend([orientation, 0, 0, 0, 0, 0, 0]);
    let mut bytes = vec![0xFF, 0xD8, 0xFF, 0xE1];
    bytes.extend(u16::try_from(exif.len() + 2).unwrap().to_be_bytes());
    bytes.extend(exif);
    bytes.extend(&jpeg[2..]);
    bytes
}

#[test]
fn an_image_that_fits_is_not_touched() {
    for (media_type, bytes) in images(40, 20) {
        for takes in [small(40, bytes.len()), Vendor::OpenAi.takes(), Vendor::Anthropic.takes()] {
            assert_eq!(fit_image(bytes.clone(), &takes), Ok((bytes.clone(), media_type)), "{media_type}");
        }
    }
    let photo = turned(&picture(40, 20), 6);
    assert_eq!(fit_image(photo.clone(), &small(40, 100_000)), Ok((photo, "image/jpeg")));
}

#[test]
fn an_image_with_a_longer_edge_is_scaled_with_its_proportions() {
    let becomes = ["image/png", "image/jpeg", "image/png", "image/png"];
    for ((media_type, bytes), becomes) in images(90, 30).into_iter().zip(becomes) {
        let (fitted, now) = fit_image(bytes, &small(60, 100_000)).unwrap();
        let shown = image::load_from_memory(&fitted).unwrap();
        assert_eq!((now, shown.dimensions()), (becomes, (60, 20)), "{media_type}");
        assert!(is_red(&shown, 5, 10) && !is_red(&shown, 50, 10), "{media_type}");
    }
    // However thin, something is left of it.
    let (fitted, _) = fit_image(encoded(&picture(500, 1), ImageFormat::Png), &small(10, 100_000)).unwrap();
    assert_eq!(size(&fitted), (10, 1));
}

#[test]
fn an_image_that_is_encoded_again_is_turned_upright() {
    // What is red on the left must come to lie where the orientation says.
    let cases = [(1, (60, 20), (5, 10)), (3, (60, 20), (55, 10)), (6, (20, 60), (10, 5)), (8, (20, 60), (10, 55))];
    for (orientation, expected, red) in cases {
        let (fitted, _) = fit_image(turned(&picture(90, 30), orientation), &small(60, 100_000)).unwrap();
        let shown = image::load_from_memory(&fitted).unwrap();
        assert_eq!(shown.dimensions(), expected, "{orientation}");
        assert!(is_red(&shown, red.0, red.1), "{orientation}");
    }
}

#[test]
fn an_image_with_too_many_bytes_becomes_jpeg_and_then_smaller() {
    let png = encoded(&picture(200, 200), ImageFormat::Png);
    let jpeg = encoded(&picture(200, 200), ImageFormat::Jpeg).len();
    let (fitted, media_type) = fit_image(png.clone(), &small(200, jpeg * 2)).unwrap();
    assert_eq!((media_type, size(&fitted)), ("image/jpeg", (200, 200)));
    let (fitted, media_type) = fit_image(png.clone(), &small(200, jpeg / 2)).unwrap();
    let (width, height) = size(&fitted);
    assert!(fitted.len() <= jpeg / 2 && media_type == "image/jpeg" && width < 200 && width == height, "{width}");
    assert_eq!(fit_image(png, &small(200, 100)), Err(Problem::TooLarge(100)));
}

#[test]
fn what_is_transparent_stays_transparent() {
    let pixel = |x: u32, y: u32| Rgba([(x * 7) as u8, (y * 5) as u8, (x * y) as u8, if x < 50 { 0 } else { 255 }]);
    let clear: DynamicImage = RgbaImage::from_fn(100, 100, pixel).into();
    let png = encoded(&clear, ImageFormat::Png);
    let (fitted, media_type) = fit_image(png.clone(), &small(200, png.len() / 2)).unwrap();
    let shown = image::load_from_memory(&fitted).unwrap();
    assert_eq!((media_type, shown.get_pixel(1, 1).0[3]), ("image/png", 0));
    assert!(fitted.len() <= png.len() / 2);
}

#[test]
fn of_an_animation_the_first_picture_is_left_when_it_is_encoded_again() {
    let mut bytes = Vec::new();
    let frame = |red: u8| Frame::new(RgbaImage::from_pixel(64, 64, Rgba([red, 0, 0, 255])));
    GifEncoder::new(&mut bytes).encode_frames([frame(250), frame(10)]).unwrap();
    assert_eq!(fit_image(bytes.clone(), &small(64, 100_000)), Ok((bytes.clone(), "image/gif")));
    // Google takes no GIF, whatever its size.
    for takes in [small(32, 100_000), Vendor::Gemini.takes()] {
        let (fitted, media_type) = fit_image(bytes.clone(), &takes).unwrap();
        let shown = image::load_from_memory(&fitted).unwrap();
        assert_eq!((media_type, shown.width()), ("image/png", takes.image_edge.min(64)));
        assert!(is_red(&shown, 16, 16));
    }
}

#[test]
fn a_truncated_image_is_damaged_wherever_it_ends() {
    for (media_type, bytes) in images(40, 30) {
        for end in (13..bytes.len() - 12).step_by(bytes.len() / 23 + 1) {
            let tried = fit_image(bytes[..end].to_vec(), &Vendor::OpenAi.takes());
            let Err(Problem::BadImage(why)) = &tried else {
                panic!("{media_type} up to {end}: {:?}", tried.map(|it| it.1))
            };
            assert!(!why.contains('\n'), "{why}");
        }
    }
    assert_eq!(fit_image(b"Hello.".to_vec(), &Vendor::OpenAi.takes()), Err(Problem::Unknown));
}

#[test]
fn a_small_file_that_claims_to_be_huge_is_not_decoded() {
    let mut png = encoded(&picture(8, 8), ImageFormat::Png);
    // The width and the height of the header, and its checksum (PNG, 11.2.2).
    png[16..24].copy_from_slice(&[0, 0, 0xC3, 0x50, 0, 0, 0xC3, 0x50]);
    let sum = crc(&png[12..29]).to_be_bytes();
    png[29..33].copy_from_slice(&sum);
    let problem = fit_image(png, &Vendor::OpenAi.takes()).unwrap_err();
    assert_eq!(problem, Problem::HugeImage { width: 50_000, height: 50_000 });
    let line = "the image has 50000 × 50000 pixels, which is more than can be decoded; make it smaller";
    assert_eq!(problem.to_string(), line);
}

/// The checksum of PNG (ISO 3309).
fn crc(bytes: &[u8]) -> u32 {
    let step = |sum: u32, _| if sum & 1 == 1 { sum >> 1 ^ 0xEDB8_8320 } else { sum >> 1 };
    !bytes.iter().fold(u32::MAX, |sum, byte| (0..8).fold(sum ^ u32::from(*byte), step))
}
