import { expect, it } from 'vitest'
import { isInstant, isVisible } from '../../../platform/http/formats.ts'

it.each([
  ['nothing', ''],
  ['white space', ' \t\r\n\u00a0\u2003\u3000'],
  ['spaces and joiners without a width', '\u200b\u200c\u200d\u2060\ufeff'],
  ['direction marks', '\u200e\u200f\u202e\u2066\u2069\u061c'],
  ['soft hyphens and variation selectors', '\u00ad\ufe0f\u180b\u{e0100}'],
  ['filler letters', '\u115f\u1160\u3164\uffa0'],
  ['an empty Braille cell', '\u2800'],
  ['control characters', '\u0001\u007f\u0085'],
  ['tags', '\u{e0041}\u{e007f}'],
  ['halves of a surrogate pair', '\ud83d'],
])('a text of only %s is not visible', (_, text) => {
  expect([isVisible(text), isVisible(`${text}x${text}`)]).toEqual([false, true])
})

it.each(['Ö', '李', 'क्', '9', '-', '👩\u200d🔬', '\u0301', 'שָׁ', '\u{20000}'])('%s is seen', (text) => {
  expect(isVisible(text)).toBe(true)
})

it.each([
  ['2026-03-01T00:00:00Z', true],
  ['2026-03-01t23:59:59.999999999z', true],
  ['2026-03-01T23:59:59+23:59', true],
  ['2026-03-01T24:00:00Z', false],
  ['2026-03-01T24:00:00.000+01:00', false],
  ['2026-03-01T29:00:00Z', false],
  ['2026-03-01T00:60:00Z', false],
  ['2026-03-01T00:00:60Z', false],
  ['2026-03-01T00:00:00+24:00', false],
  ['2026-03-01T00:00:00+01:60', false],
  ['2026-03-01T00:00:00', false],
])('%s as an instant: %s', (text, isOne) => {
  expect(isInstant(text)).toBe(isOne)
})
