import * as fc from 'fast-check'
import Handlebars from 'handlebars'
import { expect, it } from 'vitest'
import { RenderFault, TemplateFault } from '../../../platform/templates/faults.ts'
import {
  compileTemplate,
  type Rendered,
  type TemplateSource,
  type Variables,
} from '../../../platform/templates/rendering.ts'
import { source } from '../../commands/notifications/random-templates.ts'

async function renderedOf(source: TemplateSource, given: Variables): Promise<Rendered> {
  return (await compileTemplate(source)).render(given)
}

const variables = {
  a: 1,
  b: 'B <b>',
  none: null,
  no: false,
  list: [1, 'two', { a: 3, list: [4] }],
  map: { a: 'in a map', list: [], map: { b: 'deep' } },
}

it('every template that renders has the output that Handlebars gives it', async () => {
  let rendered = 0
  await fc.assert(
    fc.asyncProperty(source, async (bodyTemplate) => {
      try {
        const { html } = await renderedOf({ channel: 'email', subject: null, bodyTemplate }, variables)
        expect(html).toBe(Handlebars.compile(bodyTemplate)(variables))
        rendered += 1
      } catch (error) {
        // Ours is stricter: it refuses what is missing, or has no text.
        if (!(error instanceof TemplateFault) && !(error instanceof RenderFault)) throw error
      }
    }),
    { numRuns: 1000 },
  )
  expect(rendered).toBeGreaterThan(150)
})

it('any text is refused by a fault, or renders', async () => {
  const marks = '{{ }} {{{ {{{{ # / ^ if else each | as ( ) " ! -- \\ ~ @ [ ] = . .. > * & a constructor 0'.split(' ')
  const pieces = fc.constantFrom(...marks, ' ', '\n')
  await fc.assert(
    fc.asyncProperty(fc.array(pieces, { maxLength: 30 }), async (all) => {
      try {
        await renderedOf({ channel: 'email', subject: all.join(''), bodyTemplate: all.join('') }, variables)
      } catch (error) {
        if (!(error instanceof TemplateFault) && !(error instanceof RenderFault)) throw error
      }
    }),
    { numRuns: 1000 },
  )
})
