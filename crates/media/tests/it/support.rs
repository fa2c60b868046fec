//! Files of every kind.

use image::{DynamicImage, ImageFormat, Rgb, RgbImage};
use std::io::Cursor;

/// A picture that no format can shrink to nothing: the left half is red, the rest has every colour.
pub fn picture(width: u32, height: u32) -> DynamicImage {
    let pixel = |x: u32, y: u32| match x < width / 2 {
        true => Rgb([250, 5, 5]),
        false => Rgb([(x * 7) as u8, (y * 5) as u8, (x * y) as u8]),
    };
    RgbImage::from_fn(width, height, pixel).into()
}

pub fn encoded(picture: &DynamicImage, format: ImageFormat) -> Vec<u8> {
    let mut bytes = Vec::new();
    picture.write_to(&mut Cursor::new(&mut bytes), format).unwrap();
    bytes
}

/// The picture in every format that vendors take, with its media type.
pub fn images(width: u32, height: u32) -> [(&'static str, Vec<u8>); 4] {
    let formats = [
        ("image/png", ImageFormat::Png),
        ("image/jpeg", ImageFormat::Jpeg),
        ("image/webp", ImageFormat::WebP),
        ("image/gif", ImageFormat::Gif),
    ];
    formats.map(|(name, format)| (name, encoded(&picture(width, height), format)))
}
