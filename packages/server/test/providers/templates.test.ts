import Handlebars from 'handlebars';
import { describe, expect, it } from 'vitest';
import { TemplateError } from '../../../providers/src/template-parser.ts';
import { render } from '../../../providers/src/templates.ts';

const DATA = {
  name: `<O'Neil> & "sons"=\``,
  person: { name: 'Ada', tags: ['a', 'b'], address: { city: 'Bern' } },
  items: [
    { n: 1, sub: [{ m: 'x' }, { m: 'y' }] },
    { n: 2, sub: [] },
  ],
  prices: { tea: 3, milk: 0 },
  empty: [],
  zero: 0,
  no: false,
  yes: true,
  'two words': 'both',
  list: [1, [2, null, 3]],
};

const SAME_AS_HANDLEBARS = [
  'Hi {{name}}, {{{name}}}, {{&name}}, {{ person.name }} {{person.address.city}} {{person/name}}',
  '{{#each items as |item i|}}{{i}}={{item.n}} {{#each sub}}{{m}}{{@index}}{{../n}}{{@root.zero}}{{/each}};{{/each}}',
  '{{#each items}}{{#if @first}}first{{/if}}{{n}}{{#unless @last}}, {{/unless}}{{/each}}',
  '{{#each prices}}{{@key}}: {{this}};{{else}}none{{/each}}{{#each empty}}x{{else}}none{{/each}}',
  '{{#if no}}a{{else if zero}}b{{else if yes}}c{{else}}d{{/if}}{{#unless no}}e{{/unless}}{{^no}}f{{/no}}',
  '{{#with person}}{{name}} of {{address.city}}, {{../zero}}{{/with}}{{#with missing}}x{{else}}y{{/with}}',
  '{{#person}}{{name}}{{#tags}}[{{.}}]{{/tags}}{{/person}}{{#yes}}{{person.name}}{{/yes}}{{#no}}x{{^}}z{{/no}}',
  'a\n{{#if yes}}\n  b\n{{else}}\n  c\n{{/if}}\nd\n  {{! note }}  \ne {{~ zero ~}} f\n{{!-- a }} b --}}\n',
  '{{#if yes}}\n{{#each items}}\n  {{n}}\n{{/each}}\n{{/if}}\n\n{{#if no}}x{{/if}} tail',
  'a \\{{name}} b {{zero}}{{no}}{{missing}}{{list}}{{person}}{{[two words]}}{{"two words"}}{{this.[two words]}}',
  '{{lookup person "name"}}{{lookup items 1}}{{#if (lookup prices "tea")}}tea{{/if}}{{items.length}}{{items.[1].n}}',
  '{{#*inline "row"}}<{{n}}{{extra}}>{{/inline}}{{#each items}}{{> row extra="!"}}{{/each}}{{> row person}}',
];

describe('templates', () => {
  it.each(SAME_AS_HANDLEBARS)('are rendered as Handlebars renders them: %j', (source) => {
    expect(render(source, DATA, { escape: true })).toBe(Handlebars.compile(source)(DATA));
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
    expect(() => render('{{a.b}}', {}, { escape: false, strict: true })).toThrow(
      "Attribute 'a.b' is not present",
    );
    expect(render('{{#if a}}x{{/if}}', {}, { escape: false, strict: true })).toBe('');
  });
});
