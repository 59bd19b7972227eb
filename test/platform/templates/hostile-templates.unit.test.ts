import { describe, expect, it } from 'vitest'
import { RenderFault, TemplateFault } from '../../../platform/templates/faults.ts'
import { compileTemplate } from '../../../platform/templates/rendering.ts'
import { hostileTemplates, type Fate, type HostileTemplate } from './hostile-templates.ts'

async function fateOf({ channel = 'email', subject, body, variables = {} }: HostileTemplate): Promise<Fate> {
  try {
    const template = await compileTemplate({ channel, subject: subject ?? null, bodyTemplate: body })
    const { subject: title, html, text } = await template.render(variables)
    return { prints: title ?? html ?? text }
  } catch (error) {
    if (error instanceof TemplateFault) return { refused: error.code }
    if (error instanceof RenderFault) return { fails: error.failure }
    throw error
  }
}

describe('hostile templates', () => {
  it.each(hostileTemplates)('$title', async (template) => {
    expect(await fateOf(template)).toEqual(template.fate)
  })

  it('are at least 80, each with a title of its own', () => {
    const titles = new Set(hostileTemplates.map(({ title }) => title))
    expect(titles.size).toBe(hostileTemplates.length)
    expect(titles.size).toBeGreaterThanOrEqual(80)
  })

  it('change no prototype', async () => {
    for (const template of hostileTemplates) await fateOf(template)
    expect(Reflect.ownKeys({})).toEqual([])
    expect('evil' in {}).toBe(false)
  })

  it.each([
    ['a tree in place of the source', { type: 'Program', body: [] }],
    ['a list', ['{{a}}']],
    ['a number', 1],
  ])('%s is refused, whatever the types say', async (_, source) => {
    const bodyTemplate: string = JSON.parse(JSON.stringify(source))
    await expect(compileTemplate({ channel: 'email', subject: null, bodyTemplate })).rejects.toThrow('must be a text')
  })
})
