import Handlebars from 'handlebars';
import { describe, expect, it } from 'vitest';
import { TemplateError } from '../../../providers/src/template-parser.ts';
import { render } from '../../../providers/src/templates.ts';
import SAME_AS_HANDLEBARS from './templates.json' with { type: 'json' };

describe('templates', () => {
  const { data } = SAME_AS_HANDLEBARS;

  it.each(SAME_AS_HANDLEBARS.sources)('are rendered as Handlebars renders them: %j', (source) => {
    expect(render(source, data, { escape: true })).toBe(Handlebars.compile(source)(data));
  });

  it('reach nothing that the data does not hold itself', () => {
    const source =
      '{{constructor}}{{__proto__}}{{toString}}{{person.constructor.name}}{{lookup this "constructor"}}{{name.constructor}}';
    expect(render(source, { person: {}, name: 'x' }, { escape: true })).toBe('');
    expect(render('{{a}}', JSON.parse('{"a":{"toString":1}}'), { escape: true })).toBe('[object Object]');
    expect(() => render('{{constructor 1}}', {}, { escape: true, helpers: {} })).toThrow('Missing helper');
  });

  it.each([
    ['a partial that calls itself twice', '{{#*inline "p"}}{{> p}}{{> p}}{{/inline}}{{> p}}'],
    ['loops within loops', '{{#each a}}{{#each @root.a}}{{#each @root.a}}{{/each}}{{/each}}{{/each}}'],
    ['blocks nested 20,000 times', '{{#if a}}'.repeat(20_000) + '{{/if}}'.repeat(20_000)],
    ['a longer output than may be', `{{#each a}}${'x'.repeat(20_000)}{{/each}}`],
    ['a longer template than may be', 'x'.repeat(600_000)],
    ['an unknown helper', '{{shout a}}'],
    ['an unknown partial', '{{> nobody}}'],
    ['a block without an end', '{{#if a}}'],
    ['an end without a block', '{{/if}}'],
    ['an end of another block', '{{#if a}}{{/unless}}'],
    ['an else without a block', '{{else}}'],
    ['an open tag', 'Hi {{name'],
    ['an empty tag', '{{}}'],
    ['parentheses nested 10,000 times', `{{a ${'(a '.repeat(10_000)}`],
  ])('refuse %s', (_what, source) => {
    expect(() => render(source, { a: Array(1000).fill(1) }, { escape: true })).toThrow(TemplateError);
  });

  it('name a variable without a value where the provider wants all of them', () => {
    const strictly = (source: string) => render(source, {}, { escape: false, strict: true });
    expect(() => strictly('{{a.b}}')).toThrow("Attribute 'a.b' is not present");
    expect(strictly('{{#if a}}x{{/if}}')).toBe('');
  });
});
