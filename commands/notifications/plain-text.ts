/** Elements that stand on lines of their own, and elements with a blank line around them. */
const lines: ReadonlySet<string> = new Set(['dd', 'div', 'dt', 'footer', 'header', 'section', 'table', 'tr'])
const paragraphs: ReadonlySet<string> = new Set([
  'blockquote',
  'h1',
  'h2',
  'h3',
  'h4',
  'h5',
  'h6',
  'hr',
  'ol',
  'p',
  'pre',
  'ul',
])
const hidden: ReadonlySet<string> = new Set(['head', 'script', 'style', 'template', 'title'])

/** What mails need. Other names stay as they are written. */
const entities: ReadonlyMap<string, string> = new Map(
  Object.entries({ amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: ' ', ndash: '–', mdash: '—', hellip: '…' }),
)

interface Tag {
  /** In lower case; empty for a comment or a declaration. */
  readonly name: string
  readonly isClosing: boolean
  readonly attributes: string
  /** Place behind the tag. */
  readonly end: number
}

/**
 * The text of an HTML mail, for its plain part: lines, list items and the addresses of links. It reads each character
 * once, so its time depends on the length only, also for hostile HTML.
 */
export function plainTextOf(html: string): string {
  const parts: string[] = []
  let link: { readonly address: string; readonly begin: number } | undefined
  let at = 0
  // Any other `<` is a text.
  const opening = /<(?=[a-z/!])/gi
  for (;;) {
    opening.lastIndex = at
    const opened = opening.exec(html)?.index
    parts.push(spaced(html.slice(at, opened)))
    if (opened === undefined) break
    const tag = tagAt(html, opened)
    if (tag === undefined) {
      parts.push(spaced(html.slice(opened)))
      break
    }
    at = hidden.has(tag.name) && !tag.isClosing ? behindElement(html, tag) : tag.end
    if (tag.name === 'a') {
      const shown = link === undefined ? '' : parts.slice(link.begin).join('').trim()
      if (link !== undefined && link.address !== '' && link.address !== shown) parts.push(` (${link.address})`)
      link = tag.isClosing ? undefined : { address: addressOf(tag), begin: parts.length }
    } else parts.push(breakOf(tag))
  }
  return tidied(parts.join(''))
}

/** A carriage return ends a line that has text; a line feed ends any. */
function breakOf({ name, isClosing }: Tag): string {
  if (name === 'br') return '\n'
  if (name === 'li') return isClosing ? '\r' : '\r- '
  if (name === 'td' || name === 'th') return ' '
  return paragraphs.has(name) ? '\n\n' : lines.has(name) ? '\r' : ''
}

/** Undefined if the tag does not end. */
function tagAt(html: string, begin: number): Tag | undefined {
  if (html.startsWith('<!--', begin)) {
    const end = html.indexOf('-->', begin + 4)
    return end === -1 ? undefined : { name: '', isClosing: false, attributes: '', end: end + 3 }
  }
  let quote = ''
  for (let at = begin + 1; at < html.length; at++) {
    const character = html.charAt(at)
    if (quote !== '') quote = character === quote ? '' : quote
    else if (character === '"' || character === "'") quote = character
    else if (character === '>') {
      const text = html.slice(begin + 1, at)
      const [name = ''] = /^\/?[a-z][a-z0-9]*/i.exec(text) ?? []
      const isClosing = text.startsWith('/')
      return { name: name.replace('/', '').toLowerCase(), isClosing, attributes: text.slice(name.length), end: at + 1 }
    }
  }
  return undefined
}

/** Without its end, the element reaches to the end of the text. */
function behindElement(html: string, { name, end }: Tag): number {
  for (let at = html.indexOf('</', end); at !== -1; at = html.indexOf('</', at + 2)) {
    if (html.slice(at + 2, at + 2 + name.length).toLowerCase() === name) return at
  }
  return html.length
}

function addressOf({ attributes }: Tag): string {
  const [, value = ''] = /\bhref\s*=\s*("[^"]*"|'[^']*')/i.exec(attributes) ?? []
  const address = spaced(value.slice(1, -1)).trim()
  return /^(?:https?|mailto):/i.test(address) ? address : ''
}

function spaced(text: string): string {
  return decoded(text).replace(/\s+/g, ' ')
}

function decoded(text: string): string {
  return text.replace(/&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|([a-z]{1,31}));/gi, (all, decimal, hex, name) => {
    if (typeof name === 'string') return entities.get(name) ?? all
    const code = typeof hex === 'string' ? Number.parseInt(hex, 16) : Number(decimal)
    return code > 0 && code <= 0x10_ff_ff ? String.fromCodePoint(code) : all
  })
}

/** Without spaces at the ends of lines, and with one blank line at most. */
function tidied(text: string): string {
  const trimmed = text.split('\n').map((line) => line.split('\r').map(withoutSpaces).filter(hasText).join('\n'))
  return trimmed
    .filter((line, place) => hasText(line) || hasText(trimmed[place - 1] ?? ''))
    .join('\n')
    .trim()
}

function withoutSpaces(line: string): string {
  return line.split(' ').filter(hasText).join(' ')
}

function hasText(text: string): boolean {
  return text !== ''
}
