// Markdown of models, tools and files as HTML that can do nothing: no HTML of its own, no images, links that are asked about.
import DOMPurify from "dompurify";
import MarkdownIt from "markdown-it";
import { visible } from "../model/visible";
import { highlighted } from "./highlight";

const markdown = new MarkdownIt({
  html: false,
  linkify: true,
  breaks: false,
  highlight: (text, language) => highlighted(text, language),
});
// Bare words such as `main.rs` are no addresses.
markdown.linkify.set({ fuzzyLink: false, fuzzyEmail: false, fuzzyIP: false });
markdown.validateLink = (address) => /^(https?:|mailto:|#)/i.test(address.trim());

const escape = markdown.utils.escapeHtml;

// An image is loaded by nobody: what it would have shown is said.
markdown.renderer.rules["image"] = (tokens, at) => {
  const token = tokens[at];
  const source = String(token?.attrGet("src") ?? "");
  const alt = token?.content ?? "";
  const text = `🖼 ${alt === "" ? source : alt}`;
  return /^https?:/i.test(source) ? `<a href="${escape(source)}">${escape(text)}</a>` : `<span>${escape(text)}</span>`;
};

const purifier = DOMPurify();
const ALLOWED = {
  ALLOWED_TAGS: [
    "a", "blockquote", "br", "code", "del", "em", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "li", "ol", "p", "pre", "s", "span",
    "strong", "table", "tbody", "td", "th", "thead", "tr", "ul",
  ],
  ALLOWED_ATTR: ["href", "class", "start"],
  ALLOW_DATA_ATTR: false,
  ALLOW_ARIA_ATTR: false,
};

// Only the classes of syntax colours: any other could dress text up as a part of this page.
purifier.addHook("afterSanitizeAttributes", (node) => {
  const classes = [...node.classList].filter((name) => /^(hljs-|language-)[\w-]+$/.test(name));
  if (classes.length > 0) node.className = classes.join(" ");
  else node.removeAttribute("class");
  if (node.tagName === "A") {
    node.setAttribute("rel", "noopener noreferrer nofollow");
    node.setAttribute("target", "_blank");
  }
  // A heading of a model is none of the page: screen readers would lose their way in it.
  if (/^H[1-6]$/.test(node.tagName)) node.setAttribute("role", "presentation");
});

/** Longer texts are shown as they are. */
export const MOST_MARKDOWN = 100_000;

/** Markdown as HTML for `v-html`. */
export function rendered(text: string): string {
  return purifier.sanitize(markdown.render(visible(text)), ALLOWED);
}
