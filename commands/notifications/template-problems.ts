import { problem, type Problem } from '../../platform/http/problems.ts'
import { RenderFault, TemplateFault } from '../../platform/templates/faults.ts'
import {
  compileTemplate,
  type CompiledTemplate,
  type Rendered,
  type TemplateSource,
  type Variables,
} from '../../platform/templates/rendering.ts'

/**
 * @param place pointer of the template in the body
 * @throws Problem `validation-failed` with the place in the template
 */
export async function compiledOrRefused(source: TemplateSource, place = ''): Promise<CompiledTemplate> {
  try {
    return await compileTemplate(source)
  } catch (error) {
    if (!(error instanceof TemplateFault)) throw error
    const { pointer, message: detail, code, line, column } = error
    throw problem('validation-failed', { errors: [{ pointer: place + pointer, detail, code, line, column }] })
  }
}

/**
 * A trial: the result, or the paths without a value.
 * @throws Problem `template-render-failed`
 */
export async function renderedOrMissing(
  compiled: CompiledTemplate,
  variables: Variables,
): Promise<{ readonly rendered: Rendered | null; readonly missing: readonly string[] }> {
  const missing = compiled.missingFrom(variables)
  if (missing.length > 0) return { rendered: null, missing }
  try {
    return { rendered: await compiled.render(variables), missing }
  } catch (error) {
    if (!(error instanceof RenderFault)) throw error
    if (error.missing !== null) return { rendered: null, missing: [error.missing] }
    throw renderingProblem(error)
  }
}

function renderingProblem({ errorDetail }: RenderFault): Problem {
  return problem('template-render-failed', { detail: errorDetail })
}
