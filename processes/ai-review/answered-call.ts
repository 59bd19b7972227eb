import type { ProviderAnswered } from '../../streams/ai-review/events.ts'
import type { ProviderAnswer } from '../adapters/provider.ts'

/** The members of an outcome that describe the call itself. */
export function answeredOf(
  { id: attemptId, durationMs }: { readonly id: string; readonly durationMs: number },
  answer: ProviderAnswer<unknown> | { readonly kind: 'thrown' },
): ProviderAnswered {
  return { attemptId, status: 'status' in answer ? answer.status : null, durationMs }
}
