import { setImmediate } from 'node:timers/promises'
import Handlebars from 'handlebars'
import { LRUCache } from 'lru-cache'
import { plainTextOf } from './plain-text.ts'
import { RenderFault, TemplateFault } from './faults.ts'
import { fullBudget, interpret, member } from './interpreter.ts'
import { templateTree } from './tree.ts'
import { usedVariables } from './variables.ts'

/** What a rendering depends on. */
export interface TemplateSource {
  readonly channel: 'email' | 'slack'
  readonly subject: string | null
  readonly bodyTemplate: string
}

export interface Rendered {
  /** Null for chat, and for a mail whose template has none. */
  readonly subject: string | null
  /** Null for chat. */
  readonly html: string | null
  readonly text: string
}

export type Variables = Readonly<Record<string, unknown>>

export interface CompiledTemplate {
  /** First names of the variables that the template uses. */
  readonly variables: readonly string[]
  readonly subjectVariables: readonly string[]
  /** Paths without which the template is never rendered. */
  readonly requiredVariables: readonly string[]
  /** The required paths that have no value. */
  readonly missingFrom: (variables: Variables) => readonly string[]
  /** @throws RenderFault */
  readonly render: (variables: Variables) => Promise<Rendered>
}

/** A header line has at most 998 characters. */
const longestSubject = 998
const controls = /[\p{Cc}\u2028\u2029]/u

/** Slack's rule for texts of others: no links, mentions or `<!channel>`. */
function escapeForChat(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}

function plain(text: string): string {
  return text
}

/** Characters of all kept templates, which take up to 40 MB. */
const mostKept = 1024 * 1024

/** By their content, so what was compiled stays right. A template in use is compiled once for each of its versions. */
const kept = new LRUCache<string, CompiledTemplate, TemplateSource>({
  maxSize: mostKept,
  sizeCalculation: (_, key) => key.length,
  // Others may fill the cache meanwhile. Whoever asked for a template gets it all the same.
  ignoreFetchAbort: true,
  fetchMethod: (_key, _stale, { context }) => compile(context),
})

/**
 * Checks a template, and makes it ready to be rendered. Bodies of mails are HTML, and variables in them are escaped.
 * Both compiling and rendering let other work of the process have its turn after some milliseconds of CPU time.
 *
 * @throws TemplateFault
 */
export function compileTemplate({ channel, subject, bodyTemplate }: TemplateSource): Promise<CompiledTemplate> {
  const source = { channel, subject, bodyTemplate }
  return kept.forceFetch(JSON.stringify(source), { context: source })
}

async function compile({ channel, subject, bodyTemplate }: TemplateSource): Promise<CompiledTemplate> {
  if (channel === 'slack' && subject !== null)
    throw new TemplateFault('/subject', 'subject-on-chat', 'must not be given: a chat message has no subject')
  if (subject !== null && controls.test(subject))
    throw new TemplateFault('/subject', 'control-character', 'must not contain control characters')
  const body = await templateTree(bodyTemplate, '/bodyTemplate')
  const subjectBody = subject === null ? null : await templateTree(subject, '/subject')
  const used = usedVariables(body, subjectBody ?? [])

  return {
    variables: [...used.names],
    subjectVariables: [...usedVariables(subjectBody ?? []).names],
    requiredVariables: [...used.required.keys()],
    missingFrom: (variables) =>
      [...used.required].flatMap(([text, path]) =>
        path.reduce(member, variables as unknown) === undefined ? [text] : [],
      ),
    async render(variables) {
      await setImmediate()
      const budget = fullBudget()
      const rendered = subjectBody === null ? null : interpret(subjectBody, variables, plain, budget)
      if (rendered !== null && controls.test(rendered))
        throw new RenderFault('control-character', 'the subject has a control character')
      if (rendered !== null && rendered.length > longestSubject)
        throw new RenderFault('too-large', `the subject has more than ${longestSubject} characters`)
      if (channel === 'slack')
        return { subject: null, html: null, text: interpret(body, variables, escapeForChat, budget) }
      const html = interpret(body, variables, Handlebars.escapeExpression, budget)
      return { subject: rendered, html, text: await plainTextOf(html) }
    },
  }
}
