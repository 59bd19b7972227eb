import { expect, test } from 'vitest'
import {
  comparedAddress,
  domainOf,
  hasControlCharacter,
  isMailAddress,
  readMailAddress,
  readSenderAddress,
} from '../../../platform/kit/mail-address.ts'

const longLabel = 'd'.repeat(63)

test.each([
  'a@b.test',
  'first.last+tag@clinic.test',
  "o'brien_{}|~^`=?/*&$#-@sub.clinic.test",
  '1@xn--bcher-kva.example',
  `${'l'.repeat(64)}@clinic.test`,
  `${'l'.repeat(64)}@${longLabel}.${longLabel}.${'d'.repeat(56)}.test`,
])('%s takes mails', (address) => {
  expect(isMailAddress(address)).toBe(true)
})

test.each([
  ['nothing', ''],
  ['no domain', 'local'],
  ['an empty local part', '@clinic.test'],
  ['an empty domain', 'local@'],
  ['a domain of one label', 'local@localhost'],
  ['two addresses', 'a@clinic.test,b@clinic.test'],
  ['two at signs', 'a@b@clinic.test'],
  ['a list', 'a@clinic.test b@clinic.test'],
  ['a display name', 'Somebody <a@clinic.test>'],
  ['angle brackets', '<a@clinic.test>'],
  ['a comment', 'a(comment)@clinic.test'],
  ['a quoted local part', '"a b"@clinic.test'],
  ['a quoted local part that contains another address', '"x@evil.test"@clinic.test'],
  ['a group', 'team:a@clinic.test;'],
  ['a source route', '@relay.test:a@clinic.test'],
  ['a percent route', 'a%evil.test@clinic.test'],
  ['a bang path', 'evil!a@clinic.test'],
  ['an address literal', 'a@[127.0.0.1]'],
  ['an IPv4 address', 'a@127.0.0.1'],
  ['a backslash', 'a\\@clinic.test'],
  ['a line break', 'a@clinic.test\r\nRCPT TO:<b@clinic.test>'],
  ['a line break at the end', 'a@clinic.test\n'],
  ['a carriage return', 'a\r@clinic.test'],
  ['a null', 'a\0@clinic.test'],
  ['a tab', 'a@clinic.test\t'],
  ['a line separator', 'a@clinic.test\u2028'],
  ['a script other than Latin', 'ä@clinic.test'],
  ['a domain in another script', 'a@büro.test'],
  ['a look-alike of the at sign', 'a\uff20clinic.test'],
  ['a dot at the start', '.a@clinic.test'],
  ['a dot at the end', 'a.@clinic.test'],
  ['two dots', 'a..b@clinic.test'],
  ['a domain with two dots', 'a@clinic..test'],
  ['a domain with a dot at the end', 'a@clinic.test.'],
  ['a label that begins with a hyphen', 'a@-clinic.test'],
  ['a label that ends with a hyphen', 'a@clinic-.test'],
  ['an underscore in the domain', 'a@cli_nic.test'],
  ['a local part of 65 characters', `${'l'.repeat(65)}@clinic.test`],
  ['a label of 64 characters', `a@${'d'.repeat(64)}.test`],
  ['255 characters', `${'l'.repeat(64)}@${longLabel}.${longLabel}.${'d'.repeat(57)}.test`],
])('%s takes none', (_case, address) => {
  expect(isMailAddress(address)).toBe(false)
})

test.each([
  [' Jane@Clinic.test\n', 'Jane@Clinic.test'],
  ['jane@b\u00fccher.example', 'jane@xn--bcher-kva.example'],
  ['Jane@BU\u0308CHER.Example', 'Jane@xn--bcher-kva.example'],
  ['jane@XN--BCHER-KVA.example', 'jane@XN--BCHER-KVA.example'],
  ['jane@fa\u00df.example', 'jane@xn--fa-hia.example'],
  ['jane@\u043f\u0440\u0438\u043c\u0435\u0440.\u0440\u0444', 'jane@xn--e1afmkfd.xn--p1ai'],
  ['jane@\u4f8b\u3048\u3002\u30c6\u30b9\u30c8', 'jane@xn--r8jz45g.xn--zckzah'],
])('%j is kept as %s', (given, kept) => {
  expect(readMailAddress(given)).toBe(kept)
})

test.each([
  ['a local part in another script', 'j\u00e4ne@clinic.test'],
  ['a domain that ends at a slash', 'jane@b\u00fccher.example/evil.test'],
  ['a domain that ends at a number sign', 'jane@b\u00fccher.example#evil.test'],
  ['a port', 'jane@b\u00fccher.example:25'],
  ['a line break within the domain', 'jane@b\u00fc\ncher.example'],
  ['full-width digits of an IPv4 address', 'jane@\uff11\uff12\uff17.\uff10.\uff10.\uff11'],
  ['a full-width slash', 'jane@b\u00fccher.example\uff0fevil.test'],
  ['a label that is too long', `jane@${'\u00fc'.repeat(63)}.test`],
  ['one label', 'jane@b\u00fccher'],
  ['a megabyte', `jane@${'\u00fc.'.repeat(500_000)}test`],
])('%s is no address', (_case, given) => {
  expect(readMailAddress(given)).toBeUndefined()
})

test('addresses are compared without blanks, case and script', () => {
  const same = ['jane@b\u00fccher.example', ' JANE@BU\u0308CHER.EXAMPLE ', 'Jane@XN--bcher-KVA.example']
  expect(new Set(same.map(comparedAddress))).toEqual(new Set(['jane@xn--bcher-kva.example']))
})

test('a sender may have a display name', () => {
  expect([
    readSenderAddress('no-reply@clinic.test'),
    readSenderAddress('The Clinic <no-reply@clinic.test>'),
    readSenderAddress('The "Clinic" <no-reply@clinic.test>'),
    readSenderAddress('The Clinic <no-reply@clinic.test> '),
    readSenderAddress('<no-reply@clinic.test>'),
  ]).toEqual([
    { name: '', address: 'no-reply@clinic.test' },
    { name: 'The Clinic', address: 'no-reply@clinic.test' },
    undefined,
    undefined,
    undefined,
  ])
  expect(domainOf('no-reply@clinic.test')).toBe('clinic.test')
})

test('long input is refused without reading it', () => {
  expect(isMailAddress(`${'a.'.repeat(1_000_000)}@clinic.test`)).toBe(false)
})

test.each(['a\nb', 'a\rb', '\0', '\u001b[1m', 'a\u0085b', 'a\u2028b', 'a\u2029b'])(
  '%j has a control character',
  (text) => {
    expect(hasControlCharacter(text)).toBe(true)
  },
)

test('letters, emoji and marks are no control characters', () => {
  expect(hasControlCharacter('Ihr Ergebnis – für Ärzte 👩🏽‍⚕️')).toBe(false)
})
