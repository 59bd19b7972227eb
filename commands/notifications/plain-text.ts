import { setImmediate } from 'node:timers/promises'
import { Tokenizer } from 'htmlparser2'

const setOf = (names: string): ReadonlySet<string> => new Set(names.split(' '))

/** Elements that stand on lines of their own, and elements with a blank line around them. */
const lines = setOf(
  'address article aside body caption center dd details dialog div dt fieldset figcaption footer form header hgroup html legend li main nav optgroup option search section summary table tbody tfoot thead tr',
)
const paragraphs = setOf('blockquote dir dl figure h1 h2 h3 h4 h5 h6 hr listing menu ol p plaintext pre ul xmp')
/** Elements that no reader of a mail sees. */
const hidden = setOf('datalist iframe noembed noframes script style template title')

/** Characters between two turns of other work: some milliseconds. */
const slice = 16_384

interface Link {
  readonly address: string
  shown: string
}

/**
 * The text of an HTML mail, for its plain part: lines, list items, the addresses of links and the texts of images. The
 * library reads the grammar, each character once. So the time depends on the length only, also for hostile HTML.
 */
export async function plainTextOf(html: string): Promise<string> {
  const written = createWriter()
  let name = ''
  let attribute = ''
  const values = new Map<string, string>()
  let link: Link | undefined
  /** The hidden element that is open, and how often it is open in itself. */
  let unseen = { name: '', depth: 0 }
  let pauseAt = slice

  const tokenizer = new Tokenizer(
    {},
    {
      ontext: (from, to) => show(html.slice(from, to), to),
      ontextentity: (codePoint, to) => show(String.fromCodePoint(codePoint), to),
      onopentagname(from, to) {
        name = html.slice(from, to).toLowerCase()
        values.clear()
      },
      onattribname(from, to) {
        const given = html.slice(from, to).toLowerCase()
        // Of two attributes with one name, the first counts.
        attribute = (given === 'href' || given === 'alt') && !values.has(given) ? given : ''
        pauseBehind(to)
      },
      onattribdata: (from, to) => addValue(html.slice(from, to)),
      onattribentity: (codePoint) => addValue(String.fromCodePoint(codePoint)),
      onattribend() {},
      onopentagend: open,
      onselfclosingtag: open,
      onclosetag: (from, to) => close(html.slice(from, to).toLowerCase(), to),
      oncomment: (_, to) => pauseBehind(to),
      oncdata() {},
      ondeclaration() {},
      onprocessinginstruction() {},
      onend: endLink,
    },
  )
  await setImmediate()
  tokenizer.write(html)
  while (!tokenizer.running) {
    await setImmediate()
    tokenizer.resume()
  }
  tokenizer.end()
  return written.all()

  function pauseBehind(end: number): void {
    if (end < pauseAt) return
    pauseAt = end + slice
    tokenizer.pause()
  }

  function addValue(part: string): void {
    if (attribute !== '') values.set(attribute, (values.get(attribute) ?? '') + part)
  }

  function show(text: string, end: number): void {
    pauseBehind(end)
    if (unseen.depth > 0) return
    if (link !== undefined) link.shown += text
    written.text(text)
  }

  function open(end: number): void {
    pauseBehind(end)
    if (unseen.depth > 0) {
      if (name === unseen.name) unseen.depth += 1
      return
    }
    if (hidden.has(name)) unseen = { name, depth: 1 }
    else if (name === 'img') show(values.get('alt') ?? '', end)
    else if (name === 'br') written.lineFeed()
    else breakAt(name)
    if (name === 'a') link = { address: addressIn(values.get('href') ?? ''), shown: '' }
    if (name === 'li') written.item('- ')
  }

  function close(closed: string, end: number): void {
    pauseBehind(end)
    if (unseen.depth > 0) {
      if (closed === unseen.name) unseen.depth -= 1
      return
    }
    if (closed === 'li') written.item('')
    breakAt(closed)
  }

  function breakAt(element: string): void {
    if (element === 'a') endLink()
    else if (element === 'td' || element === 'th') written.text(' ')
    else if (paragraphs.has(element)) written.lineBreaks(2)
    else if (lines.has(element)) written.lineBreaks(1)
  }

  function endLink(): void {
    const { address = '', shown = '' } = link ?? {}
    link = undefined
    const text = spaced(shown).trim()
    if (address !== '' && address !== text) written.text(text === '' ? address : ` (${address})`)
  }
}

/** Addresses of other schemes are of no use in a text. */
function addressIn(href: string): string {
  const address = spaced(href).trim()
  return /^(?:https?|mailto):/i.test(address) ? address : ''
}

function spaced(text: string): string {
  return text.replace(/\s+/g, ' ')
}

/** Writes words with single spaces, and at most one blank line between them. */
function createWriter() {
  const parts: string[] = []
  /** What stands before the next word. */
  let lineFeeds = 0
  let isSpaced = false
  let marker = ''

  return {
    text(given: string): void {
      const text = spaced(given)
      const words = text.trim()
      isSpaced ||= text.startsWith(' ')
      if (words === '') return
      const gap = lineFeeds > 0 ? '\n'.repeat(lineFeeds) : isSpaced ? ' ' : ''
      parts.push(`${parts.length === 0 ? '' : gap}${marker}${words}`)
      lineFeeds = 0
      isSpaced = text.endsWith(' ')
      marker = ''
    },
    lineFeed(): void {
      lineFeeds = Math.min(lineFeeds + 1, 2)
    },
    lineBreaks(wanted: 1 | 2): void {
      lineFeeds = Math.max(lineFeeds, wanted)
    },
    item(mark: string): void {
      marker = mark
    },
    all: () => parts.join(''),
  }
}
