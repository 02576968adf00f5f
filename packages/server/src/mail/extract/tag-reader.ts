import { Tokenizer, type TokenizerCallbacks } from 'htmlparser2';

const MAX_HTML_READ = 1024 * 1024;

/** Reads tags and text and builds no tree, so that deep nesting and missing end tags cost no extra time. */
export abstract class TagReader implements TokenizerCallbacks {
  protected readonly html: string;
  protected tag = '';
  protected tagStart = 0;
  protected readonly attributes = new Map<string, string>();
  private name = '';
  private value = '';

  constructor(html: string, maxLength = MAX_HTML_READ) {
    this.html = html.length > maxLength ? html.slice(0, maxLength) : html;
  }

  read(): this {
    const tokenizer = new Tokenizer({ decodeEntities: true }, this);
    tokenizer.write(this.html);
    tokenizer.end();
    return this;
  }

  /** Called after all attributes were read. @param end offset of the closing `>` */
  abstract onopentagend(end: number): void;
  abstract ontext(start: number, end: number): void;
  abstract onclosetag(start: number, end: number): void;

  protected get(attribute: string): string {
    return this.attributes.get(attribute) ?? '';
  }

  onopentagname(start: number, end: number): void {
    this.tagStart = start - 1;
    this.tag = this.html.slice(start, end).toLowerCase();
    this.attributes.clear();
  }

  onattribname(start: number, end: number): void {
    this.name = this.html.slice(start, end).toLowerCase();
  }

  onattribdata(start: number, end: number): void {
    this.value += this.html.slice(start, end);
  }

  onattribentity(codepoint: number): void {
    this.value += String.fromCodePoint(codepoint);
  }

  onattribend(): void {
    if (!this.attributes.has(this.name)) this.attributes.set(this.name, this.value);
    this.value = '';
  }

  /** HTML ignores the slash of a self-closing tag, so the tag is handled as a start tag. */
  onselfclosingtag(end: number): void {
    this.onopentagend(end);
  }

  ontextentity(_codepoint: number): void {}
  onend(): void {}
  oncdata(): void {}
  oncomment(): void {}
  ondeclaration(): void {}
  onprocessinginstruction(): void {}
}
