import { describe, expect, it } from 'vitest'
import {
  checkOutboundUrl,
  isAddressAllowed,
  kindOfAddress,
  parseEgressAllow,
  type OutboundRules,
} from '../../../platform/outbound/addresses.ts'

const nothing = parseEgressAllow([])
const production: OutboundRules = { profile: 'production', allow: nothing }
const development: OutboundRules = { profile: 'development', allow: nothing }
const host = { host: 'hooks.test', port: 443 }

describe('the kind of an address', () => {
  it.each([
    ['public', ['8.8.8.8', '1.1.1.1', '172.32.0.1', '2606:4700:4700::1111', '2a00:1450::1', '::ffff:8.8.8.8']],
    [
      'local',
      [
        '127.0.0.1',
        '127.255.255.254',
        '10.1.2.3',
        '172.16.0.1',
        '172.31.255.255',
        '192.168.1.1',
        '100.64.0.1',
        '::1',
        'fc00::1',
        'fd12::1',
        '::ffff:127.0.0.1',
        '::ffff:10.0.0.1',
      ],
    ],
    [
      'metadata',
      [
        '169.254.169.254',
        '169.254.1.1',
        '::ffff:169.254.169.254',
        'fe80::1',
        'febf::1',
        'fd00:ec2::254',
        'fd00:ec2::23',
        'fd00:c1::a9fe:a9fe',
        'fd00:42::42',
        'fd00:a9fe:a9fe::1',
        'fe80::1%eth0',
        '100.100.100.200',
        '168.63.129.16',
        '192.0.0.192',
      ],
    ],
    [
      'special',
      [
        '0.0.0.0',
        '0.1.2.3',
        '192.0.2.1',
        '198.18.0.1',
        '198.51.100.7',
        '203.0.113.9',
        '224.0.0.1',
        '255.255.255.255',
        '240.0.0.1',
        '::',
        '::7f00:1',
        '64:ff9b::7f00:1',
        '64:ff9b:1::1',
        '2001::1',
        '2001:db8::1',
        '2002:7f00:1::',
        '3fff::1',
        '5f00::1',
        'fec0::1',
        'ff02::1',
        '100::1',
        '::ffff:0:7f00:1',
        '4000::1',
        '1::1',
        'no address',
        '',
      ],
    ],
  ])('%s', (kind, addresses) => {
    expect(addresses.map((address) => [address, kindOfAddress(address)])).toEqual(
      addresses.map((address) => [address, kind]),
    )
  })
})

describe('an address', () => {
  it('inside the site is allowed in development only, metadata never', () => {
    const allowed = (rules: OutboundRules) =>
      ['8.8.8.8', '127.0.0.1', '10.0.0.1', '169.254.169.254', '198.18.0.1', 'fe80::1'].map((address) =>
        isAddressAllowed(address, host, rules),
      )
    expect(allowed(development)).toEqual([true, true, true, false, false, false])
    expect(allowed(production)).toEqual([true, false, false, false, false, false])
  })

  it('is allowed by EGRESS_ALLOW as an address, a range, a host or a host and port; metadata is not', () => {
    const rules = (...entries: string[]): OutboundRules => ({ profile: 'production', allow: parseEgressAllow(entries) })
    expect(isAddressAllowed('10.1.2.3', host, rules('10.1.0.0/16'))).toBe(true)
    expect(isAddressAllowed('10.2.2.3', host, rules('10.1.0.0/16'))).toBe(false)
    expect(isAddressAllowed('198.18.0.7', host, rules('198.18.0.7'))).toBe(true)
    expect(isAddressAllowed('fd12::7', host, rules('fd12::/16'))).toBe(true)
    expect(isAddressAllowed('127.0.0.1', host, rules('HOOKS.test'))).toBe(true)
    expect(isAddressAllowed('127.0.0.1', host, rules('hooks.test:443'))).toBe(true)
    expect(isAddressAllowed('127.0.0.1', host, rules('hooks.test:8443', 'other.test'))).toBe(false)
    expect(isAddressAllowed('169.254.169.254', host, rules('169.254.0.0/16', 'hooks.test'))).toBe(false)
  })
})

describe('a webhook address', () => {
  it.each([
    ['malformed', 'hooks'],
    ['malformed', 'https://hooks.test/\n'],
    ['malformed', 'https:\\\\hooks.test'],
    ['malformed', 'https://hö.test/'],
    ['malformed', ''],
    ['too_long', `https://hooks.test/${'x'.repeat(2048)}`],
    ['scheme', 'http://hooks.test/'],
    ['scheme', 'ftp://hooks.test/'],
    ['scheme', 'file:///etc/passwd'],
    ['scheme', 'javascript:alert(1)'],
    ['credentials', 'https://user:pass@hooks.test/'],
    ['credentials', 'https://@hooks.test/'],
    ['fragment', 'https://hooks.test/#x'],
    ['fragment', 'https://hooks.test/#'],
    ['port', 'https://hooks.test:25/'],
    ['port', 'https://hooks.test:0/'],
    ['address', 'https://127.0.0.1/'],
    ['address', 'https://2130706433/'],
    ['address', 'https://0x7f.1/'],
    ['address', 'https://[::1]/'],
    ['address', 'https://[::ffff:127.0.0.1]/'],
    ['address', 'https://localhost/'],
    ['address', 'https://a.localhost/'],
    ['address', 'https://169.254.169.254/latest'],
  ])('is refused in production: %s %s', (reason, url) => {
    expect(checkOutboundUrl(url, production)).toEqual({ refused: reason })
  })

  it.each([
    'https://localhost/',
    'https://localhost./',
    'https://LOCALHOST/',
    'https://a.localhost/',
    'https://a.localhost./',
    'https://local\u00adhost/',
  ])('%s, which always means loopback, is refused in production', (url) => {
    expect(checkOutboundUrl(url, production)).toHaveProperty('refused')
  })

  it.each([
    'https://notlocalhost/',
    'https://localhost.test/',
    'https://hooks.test/a?b=c',
    'https://hooks.test:8443/',
    'https://8.8.8.8/',
  ])('%s is taken', (url) => {
    expect(checkOutboundUrl(url, production)).toEqual({ url: new URL(url) })
  })

  it('may use http and be inside the site in development, but not be a metadata service', () => {
    expect(checkOutboundUrl('http://127.0.0.1:9999/hook', development)).toHaveProperty('url')
    expect(checkOutboundUrl('http://169.254.169.254/', development)).toEqual({ refused: 'address' })
  })
})
