/** Addresses that no call may reach, in the spellings by which they have been smuggled past such checks. */
export interface ForbiddenSpelling {
  readonly url: string
  /** What the name resolves to; a host that is an address is never resolved. */
  readonly resolvesTo?: readonly string[]
}

interface Group {
  readonly what: string
  readonly spellings: readonly (string | readonly [url: string, ...resolvesTo: string[]])[]
}

/** Loopback, private and shared: forbidden in production. */
const local: readonly Group[] = [
  {
    what: 'loopback, plain and with ports',
    spellings: [
      'http://127.0.0.1/', 'https://127.0.0.1/', 'http://127.0.0.1:22/', 'http://127.0.0.1:5432/', 'http://127.0.0.1:65535/', 'https://127.0.0.1:443/',
      'http://127.0.0.2/', 'http://127.1.2.3/', 'http://127.255.255.254/', 'HTTP://127.0.0.1/', 'http://127.0.0.1', 'http://127.0.0.1?x', 'http://127.0.0.1/a/../b',
    ],
  },
  {
    what: 'loopback as one number or few',
    spellings: [
      'http://2130706433/', 'http://017700000001/', 'http://0x7f000001/', 'http://0X7F000001/', 'http://0x7F.1/', 'http://127.1/', 'http://127.0.1/', 'http://0177.1/',
      'http://0177.0.0.1/', 'http://0177.0.0.01/', 'http://00177.000.0000.00001/', 'http://0x7f.0x0.0x0.0x1/', 'http://0x7f.0.0.1/', 'http://0x7f.0x1/', 'http://127.0x1/',
      'http://0177.0x0.0.1/', 'http://0x7f.0.00.01/', 'http://127.65537/', 'http://127.0.0x0001/', 'http://0x0000007f000001/', 'http://2130706434/', 'http://0x7f.0x0.0x1/',
    ],
  },
  {
    what: 'loopback in other characters',
    spellings: [
      'http://１２７.０.０.１/', 'http://127。0。0。1/', 'http://127．0．0．1/', 'http://127｡0｡0｡1/', 'http://①②⑦.⓪.⓪.①/', 'http://¹²⁷.⁰.⁰.¹/', 'http://₁₂₇.₀.₀.₁/', 'http://𝟏𝟐𝟕.𝟎.𝟎.𝟏/',
      'http://𝟷𝟸𝟽.𝟶.𝟶.𝟷/', 'http://１２７。１/', 'http://２１３０７０６４３３/', 'http://０ｘ７ｆ.1/', 'http://127.0.0.\u00ad1/', 'http://127.0\u200b.0.1/', 'http://127.0.0.1\u2060/',
    ],
  },
  {
    what: 'loopback in percent encoding, with dots, blanks, backslashes and slashes',
    spellings: [
      'http://%31%32%37.0.0.1/', 'http://127%2e0%2e0%2e1/', 'http://127.0.0.%31/', 'http://%30x7f.1/', 'http://127.0.0.1./', 'http://127.1./', 'http://0x7f000001./',
      'http:\\\\127.0.0.1\\', 'http:/\\127.0.0.1/', 'http:127.0.0.1/', 'http:/127.0.0.1/', 'http:///127.0.0.1/', 'http:////127.0.0.1/', ' http://127.0.0.1/', 'http://127.0.0.1/ ',
      'http://127.0.\n0.1/', 'http://127.\t0.0.1/', 'http://12\r7.0.0.1/', 'ht\ntp://127.0.0.1/', '\u0000http://127.0.0.1/', '\u001fhttp://127.0.0.1/', 'http://127.0.0.1%00/', 'http://127.0.0.1%0d%0a/', 'http://127.0.0.1%09/',
      'http://%EF%BC%91%EF%BC%92%EF%BC%97.0.0.1/',
    ],
  },
  {
    what: 'loopback beside what looks like another host',
    spellings: [
      'http://example.com@127.0.0.1/', 'http://example.com:80@127.0.0.1/', 'http://8.8.8.8@127.0.0.1/', 'http://user:pass@127.0.0.1/', 'http://:@127.0.0.1/', 'http://@127.0.0.1/', 'http://a@b@127.0.0.1/',
      'http://example.com%40127.0.0.1@127.0.0.1/', 'http://example.com%2f@127.0.0.1/', 'http://example.com\t@127.0.0.1/', 'http://127.0.0.1\\@8.8.8.8/', 'http://127.0.0.1#@8.8.8.8/', 'http://127.0.0.1?@8.8.8.8/',
      'http://127.0.0.1:80\\@8.8.8.8:80/', 'http://127.0.0.1/@8.8.8.8/', 'http://user@[::1]/', 'http://8.8.8.8:80@0x7f.1/', 'http://example.com%00@127.0.0.1/',
    ],
  },
  {
    what: 'names of loopback',
    spellings: [
      ['http://localhost/', '127.0.0.1', '::1'], ['http://LOCALHOST/', '127.0.0.1'], ['http://LocalHost:8080/', '127.0.0.1'], ['http://localhost./', '127.0.0.1'], ['http://a.localhost/', '127.0.0.1'],
      ['http://a.b.localhost./', '127.0.0.1'], ['http://ｌｏｃａｌｈｏｓｔ/', '127.0.0.1'], ['http://ⓛⓞⓒⓐⓛⓗⓞⓢⓣ/', '127.0.0.1'], ['http://𝓁𝑜𝒸𝒶𝓁𝒽𝑜𝓈𝓉/', '127.0.0.1'], ['http://local\u00adhost/', '127.0.0.1'], ['http://loc%61lhost/', '127.0.0.1'],
      ['http://lOcAlHoSt:443/', '127.0.0.1'], ['http://localhoſt/', '127.0.0.1'], ['http://localhost.localdomain/', '127.0.0.1'], ['http://ip6-localhost/', '::1'], ['http://ip6-loopback/', '::1'],
      ['http://127.0.0.1.nip.io/', '127.0.0.1'], ['http://7f000001.nip.io/', '127.0.0.1'], ['http://localtest.me/', '127.0.0.1', '::1'], ['http://lvh.me/', '127.0.0.1'], ['http://127-0-0-1.sslip.io/', '127.0.0.1'],
      ['http://xn--example-9d0b.test/', '127.0.0.1'], ['http://127.0.0.1../', '127.0.0.1'], ['http://example.test/', '0.0.0.0'], ['http://example.test./', '::ffff:127.0.0.1'], ['http://a_b.test/', '::'],
    ],
  },
  {
    what: 'loopback of IPv6, and of IPv4 within IPv6',
    spellings: [
      'http://[::1]/', 'http://[::1]:8080/', 'https://[::1]/', 'http://[0:0:0:0:0:0:0:1]/', 'http://[0000:0000:0000:0000:0000:0000:0000:0001]/', 'http://[::0001]/', 'http://[0::1]/', 'http://[::0:1]/', 'http://[::0.0.0.1]/',
      'http://[::ffff:127.0.0.1]/', 'http://[::FFFF:127.0.0.1]/', 'http://[::ffff:7f00:1]/', 'http://[0:0:0:0:0:ffff:127.0.0.1]/', 'http://[0:0:0:0:0:FFFF:7F00:0001]/', 'http://[::ffff:127.1.2.3]/', 'http://[::127.0.0.1]/', 'http://[::7f00:1]/',
      'http://[::ffff:0:127.0.0.1]/', 'http://[::ffff:0:7f00:1]/', 'http://[64:ff9b::127.0.0.1]/', 'http://[64:ff9b::7f00:1]/', 'http://[64:ff9b:1::7f00:1]/', 'http://[2002:7f00:1::]/', 'http://[2002:7f00:1::1]/',
      'http://[2001:0:7f00:1::]/', 'http://[2001:0:0:0:0:0:80ff:fffe]/', 'http://[2001::1]/', 'http://[::1%25lo]/', 'http://[::1%lo]/', 'http://[::1%251]/', 'http://%5B::1%5D/', 'http://[::１]/', 'http://[::1]./', 'http://[0:0:0:0:0:0:127.0.0.1]/',
    ],
  },
  {
    what: 'private and shared networks',
    spellings: [
      'http://10.0.0.1/', 'http://10.255.255.255/', 'http://167772161/', 'http://0xa000001/', 'http://012.0.0.1/', 'http://10.1/', 'http://172.16.0.1/', 'http://172.31.255.254/', 'http://2886729729/', 'http://0xac.0x10.0.1/',
      'http://192.168.0.1/', 'http://192.168.1.254/', 'http://3232235521/', 'http://0xc0a80001/', 'http://0300.0250.0.1/', 'http://192.168.257/', 'http://100.64.0.1/', 'http://100.127.255.254/', 'http://1681915905/',
      'http://[fc00::1]/', 'http://[fd12:3456:789a::1]/', 'http://[FDFF::]/', 'http://[::ffff:10.0.0.1]/', 'http://[::ffff:c0a8:1]/', 'http://[::ffff:172.16.0.1]/', 'http://[::ffff:100.64.0.1]/', 'http://[64:ff9b::10.0.0.1]/', 'http://[2002:a00:1::]/', 'http://[2002:c0a8:1::1]/',
      'http://１０.０.０.１/', 'http://①⓪.0.0.1/', 'http://192。168。0。1/', ['http://intranet/', '10.0.0.5'], ['http://router.test/', '192.168.1.1'], ['http://kubernetes.default.svc/', '10.96.0.1'],
    ],
  },
]

/** Link-local addresses and the metadata services of clouds: forbidden in development, too. */
const metadata: readonly Group[] = [
  {
    what: 'the metadata address of most clouds',
    spellings: [
      'http://169.254.169.254/', 'http://169.254.169.254/latest/meta-data/', 'http://169.254.169.254:80/', 'https://169.254.169.254/', 'http://169.254.169.254./', 'http://2852039166/', 'http://0xa9fea9fe/', 'http://0xA9.0xFE.0xA9.0xFE/',
      'http://025177524776/', 'http://0251.0376.0251.0376/', 'http://0251.254.169.254/', 'http://169.254.43518/', 'http://169.16689662/', 'http://0xa9.254.0251.0xfe/', 'http://169.254.0xa9fe/', 'http://①⑥⑨.②⑤④.①⑥⑨.②⑤④/', 'http://１６９.２５４.１６９.２５４/',
      'http://169。254。169。254/', 'http://169%2e254%2e169%2e254/', 'http://%31%36%39.254.169.254/', 'http://example.com@169.254.169.254/', 'http://169.254.169.254\\@example.com/', 'http:\\\\169.254.169.254/', 'http://169.254.\t169.254/',
      'http://169.254.169.254%20/', 'http://169.254.169.254#.example.com/',
    ],
  },
  {
    what: 'the metadata address of most clouds within IPv6',
    spellings: [
      'http://[::ffff:169.254.169.254]/', 'http://[::ffff:a9fe:a9fe]/', 'http://[0:0:0:0:0:FFFF:A9FE:A9FE]/', 'http://[::169.254.169.254]/', 'http://[::a9fe:a9fe]/', 'http://[::ffff:0:a9fe:a9fe]/', 'http://[64:ff9b::169.254.169.254]/', 'http://[64:ff9b::a9fe:a9fe]/',
      'http://[64:ff9b:1::a9fe:a9fe]/', 'http://[2002:a9fe:a9fe::]/', 'http://[2002:a9fe:a9fe::1]/', 'http://[2001:0:a9fe:a9fe::]/', 'http://[fe80::a9fe:a9fe]/', 'http://[fe80::1]/', 'http://[FE80:0:0:0::1]/', 'http://[febf::1]/', 'http://[fe80::1%25eth0]/', 'http://[fe80::1%eth0]/',
    ],
  },
  {
    what: 'other metadata addresses of clouds',
    spellings: [
      'http://169.254.170.2/', 'http://169.254.170.23/', 'http://169.254.42.42/', 'http://169.254.0.23/', 'http://169.254.1.1/', 'http://168.63.129.16/', 'http://2822734096/', 'http://0xa83f8110/', 'http://[::ffff:168.63.129.16]/', 'http://100.100.100.200/', 'http://1684301000/', 'http://0144.0144.0144.0310/',
      'http://[::ffff:100.100.100.200]/', 'http://192.0.0.192/', 'http://3221225664/', 'http://[fd00:ec2::254]/', 'http://[FD00:0EC2:0000:0000:0000:0000:0000:0254]/', 'http://[fd00:ec2::23]/', 'http://[fd20:ce::254]/', 'http://[fd20:00ce:0::0.0.2.84]/', 'http://[fd00:c1::a9fe:a9fe]/', 'http://[fd00:42::42]/',
      'http://[fd00:a9fe:a9fe::1]/', 'http://[fd00:a9fe:a9fe:0:0:0:0:1]/',
    ],
  },
  {
    what: 'names of metadata services',
    spellings: [
      ['http://metadata.google.internal/computeMetadata/v1/', '169.254.169.254'], ['http://metadata.google.internal./', '169.254.169.254'], ['http://METADATA.google.internal/', 'fd20:ce::254'], ['http://metadata/', '169.254.169.254'], ['http://metadata.goog/', '169.254.169.254'],
      ['http://instance-data.ec2.internal/', '169.254.169.254'], ['http://instance-data/', 'fd00:ec2::254'], ['http://metadata.azure.internal/', '169.254.169.254'], ['http://metadata.tencentyun.com/', '169.254.0.23'], ['http://metadata.oraclecloud.com/', '169.254.169.254'],
      ['http://100-100-100-200.sslip.io/', '100.100.100.200'], ['http://169.254.169.254.nip.io/', '169.254.169.254'], ['http://a9fea9fe.nip.io/', '169.254.169.254'], ['http://link-local.test/', 'fe80::1%eth0'], ['http://mapped.test/', '::ffff:169.254.169.254'],
      ['http://one-of-two.test/', '8.8.8.8', '169.254.169.254'], ['http://one-of-three.test/', '2606:4700:4700::1111', '8.8.8.8', 'fe80::1'],
    ],
  },
  {
    what: 'addresses that are none of the internet',
    spellings: [
      'http://0.0.0.0/', 'http://0/', 'http://0x0/', 'http://00000000000/', 'http://0.0/', 'http://0.1.2.3/', 'http://[::]/', 'http://[0:0:0:0:0:0:0:0]/', 'http://[::ffff:0.0.0.0]/', 'http://[::ffff:0:0]/', 'http://255.255.255.255/', 'http://4294967295/', 'http://0xffffffff/', 'http://224.0.0.1/', 'http://239.255.255.250/',
      'http://240.0.0.1/', 'http://192.0.0.1/', 'http://192.0.2.1/', 'http://198.51.100.1/', 'http://203.0.113.1/', 'http://198.18.0.1/', 'http://198.19.255.255/', 'http://192.88.99.1/', 'http://[ff02::1]/', 'http://[ff05::2]/', 'http://[fec0::1]/', 'http://[100::1]/', 'http://[2001:db8::1]/', 'http://[3fff::1]/',
      'http://[5f00::1]/', 'http://[4000::1]/', 'http://[1::1]/', 'http://4294967296/', 'http://256.256.256.256/', 'http://127.0.0.256/', 'http://1.2.3.4.5/', 'http://0x100000000/', 'http://[::1/', 'http://[::1]x/', 'http://[]/', 'http://[1:2:3]/', 'http://[::ffff:999.0.0.1]/',
    ],
  },
  {
    what: 'other schemes',
    spellings: [
      'file:///etc/passwd', 'file://127.0.0.1/etc/passwd', 'ftp://127.0.0.1/', 'gopher://127.0.0.1:6379/_INFO', 'dict://127.0.0.1:11211/stat', 'ldap://127.0.0.1/', 'tftp://127.0.0.1/x', 'ws://127.0.0.1/', 'wss://127.0.0.1/', 'unix:///var/run/docker.sock', 'http+unix://%2Fvar%2Frun%2Fdocker.sock/', 'data:text/plain,x', 'javascript:1',
      'jar:http://127.0.0.1!/', 'netdoc:///etc/passwd', 'blob:http://127.0.0.1/x', '//127.0.0.1/', '127.0.0.1', '/127.0.0.1', 'http://', 'http:', 'https://:443/', '',
    ],
  },
]

function spellingsOf(groups: readonly Group[]): readonly (readonly [what: string, spellings: readonly ForbiddenSpelling[]])[] {
  return groups.map(({ what, spellings }) => [what, spellings.map((one) => (typeof one === 'string' ? { url: one } : { url: one[0], resolvesTo: one.slice(1) }))])
}

export const forbiddenInProduction = spellingsOf([...local, ...metadata])
export const forbiddenEverywhere = spellingsOf(metadata)
