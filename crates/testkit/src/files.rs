//! Files that people attach, written by hand.

/// A PDF with one page per text. A page without a text is empty.
pub fn pdf(pages: &[&str]) -> Vec<u8> {
    let content = |text: &&str| match text.is_empty() {
        true => Vec::new(),
        false => format!("BT /F1 12 Tf 72 700 Td ({text}) Tj ET").into_bytes(),
    };
    let contents: Vec<(&str, Vec<u8>)> = pages.iter().map(|text| ("", content(text))).collect();
    pdf_of(&contents)
}

/// A PDF with a page for each of these streams: what its dictionary says beside its length, and its bytes (ISO 32000-1, 7.3.8).
pub fn pdf_of(contents: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let kids: Vec<String> = (0..contents.len()).map(|page| format!("{} 0 R", 4 + 2 * page)).collect();
    let mut objects: Vec<Vec<u8>> = vec![
        b"<< /Type /Catalog /Pages 2 0 R >>".to_vec(),
        format!("<< /Type /Pages /Kids [{}] /Count {} >>", kids.join(" "), contents.len()).into_bytes(),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>".to_vec(),
    ];
    for (page, (dictionary, content)) in contents.iter().enumerate() {
        let fonts = "/Resources << /Font << /F1 3 0 R >> >>";
        let stream = 5 + 2 * page;
        let page = format!("<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] {fonts} /Contents {stream} 0 R >>");
        let begin = format!("<< /Length {} {dictionary} >>\nstream\n", content.len());
        objects.push(page.into_bytes());
        objects.push([begin.as_bytes(), content, b"\nendstream"].concat());
    }
    let mut file = b"%PDF-1.4\n".to_vec();
    let mut places = Vec::new();
    for (number, object) in (1..).zip(&objects) {
        places.push(file.len());
        file.extend(format!("{number} 0 obj\n").bytes());
        file.extend(object);
        file.extend(b"\nendobj\n");
    }
    let (start, size) = (file.len(), objects.len() + 1);
    file.extend(format!("xref\n0 {size}\n0000000000 65535 f \n").bytes());
    places.iter().for_each(|place| file.extend(format!("{place:010} 00000 n \n").bytes()));
    file.extend(format!("trailer\n<< /Size {size} /Root 1 0 R >>\nstartxref\n{start}\n%%EOF\n").bytes());
    file
}

/// A wave file of silence with so many samples.
pub fn wav(samples: u32) -> Vec<u8> {
    let size = samples * 2;
    let mut file = b"RIFF".to_vec();
    file.extend((36 + size).to_le_bytes());
    file.extend(b"WAVEfmt ");
    file.extend(16u32.to_le_bytes());
    file.extend([1u16, 1].iter().flat_map(|n| n.to_le_bytes()));
    file.extend([16_000u32, 32_000].iter().flat_map(|n| n.to_le_bytes()));
    file.extend([2u16, 16].iter().flat_map(|n| n.to_le_bytes()));
    file.extend(b"data");
    file.extend(size.to_le_bytes());
    file.resize(file.len() + size as usize, 0);
    file
}
