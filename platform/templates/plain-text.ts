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
  readonly shown: Writer
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

  const tokenizer = new Tokenizer(
    {},
    {
      ontext: (from, to) => show(html.slice(from, to)),
      ontextentity: (codePoint) => show(String.fromCodePoint(codePoint)),
      onopentagname(from, to) {
        name = html.slice(from, to).toLowerCase()
        values.clear()
      },
      onattribname(from, to) {
        const given = html.slice(from, to).toLowerCase()
        // Of two attributes with one name, the first counts.
        attribute = (given === 'href' || given === 'alt') && !values.has(given) ? given : ''
      },
      onattribdata: (from, to) => addValue(html.slice(from, to)),
      onattribentity: (codePoint) => addValue(String.fromCodePoint(codePoint)),
      onattribend() {},
      onopentagend: open,
      onselfclosingtag: open,
      onclosetag: (from, to) => close(html.slice(from, to).toLowerCase()),
      oncomment() {},
      oncdata() {},
      ondeclaration() {},
      onprocessinginstruction() {},
      onend: endLink,
    },
  )
  // The tokenizer gives what it has of a long text or value at the end of each slice.
  for (let from = 0; from < html.length; from += slice) {
    await setImmediate()
    tokenizer.write(html.slice(from, from + slice))
  }
  tokenizer.end()
  return written.all()

  function addValue(part: string): void {
    if (attribute !== '') values.set(attribute, (values.get(attribute) ?? '') + spaced(part))
  }

  function show(text: string): void {
    if (unseen.depth > 0) return
    link?.shown.text(text)
    written.text(text)
  }

  function open(): void {
    if (unseen.depth > 0) {
      if (name === unseen.name) unseen.depth += 1
      return
    }
    if (hidden.has(name)) unseen = { name, depth: 1 }
    else if (name === 'br') written.lineFeed()
    else breakAt(name)
    if (name === 'a' || name === 'area') link = { address: addressIn(values.get('href') ?? ''), shown: createWriter() }
    if (name === 'img' || name === 'area') show(values.get('alt') ?? '')
    if (name === 'area') breakAt(name)
    if (name === 'li') written.item('- ')
  }

  function close(closed: string): void {
    if (unseen.depth > 0) {
      if (closed === unseen.name) unseen.depth -= 1
      return
    }
    if (closed === 'li') written.item('')
    breakAt(closed)
  }

  function breakAt(element: string): void {
    if (element === 'a' || element === 'area') endLink()
    if (element === 'td' || element === 'th' || element === 'area') written.text(' ')
    else if (paragraphs.has(element)) written.lineBreaks(2)
    else if (lines.has(element)) written.lineBreaks(1)
  }

  function endLink(): void {
    const address = link?.address ?? ''
    const text = link?.shown.all() ?? ''
    link = undefined
    if (address !== '' && address !== text) written.text(text === '' ? address : ` (${address})`)
  }
}

/** Addresses of other schemes are of no use in a text. */
function addressIn(href: string): string {
  const address = spaced(href).trim()
  return /^(?:https?|mailto|tel):/i.test(address) ? address : ''
}

/** A single space stays. So the time for a text that is spaced already does not depend on its words. */
function spaced(text: string): string {
  return text.replace(/ \s+|[^\S ]\s*/g, ' ')
}

type Writer = ReturnType<typeof createWriter>

/** Writes words with single spaces, and at most one blank line between them. */
function createWriter() {
  const parts: string[] = []
  /** Line feeds and spaces to write before the next word. */
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
