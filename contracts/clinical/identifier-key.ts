import { comparedName } from '../../platform/kit/compared-name.ts'
import type { PatientIdentifier } from '../../streams/patient/events.ts'

/** The text that is unique among the identifiers of an organisation. Its HMAC names the reservation of the identifier. */
export function identifierKeyOf({ scheme, value }: PatientIdentifier): string {
  return `identifier\0${JSON.stringify([comparedName(scheme), comparedName(value)])}`
}
