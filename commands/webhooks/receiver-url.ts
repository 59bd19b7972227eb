import type { Configuration } from '../../platform/configuration/configuration.ts'
import { checkOutboundUrl } from '../../platform/outbound/addresses.ts'
import { outboundRules } from '../../platform/outbound/own-servers.ts'
import { problem } from '../../platform/http/problems.ts'

/** The check of an address that deliveries are to go to, as the profile and EGRESS_ALLOW have it. It throws `webhook-url-forbidden`. */
export function receiverUrlCheck(configuration: Configuration): (url: string) => void {
  const outbound = outboundRules(configuration)
  return (url) => {
    const checked = checkOutboundUrl(url, outbound)
    if ('url' in checked) return
    const detail = `is not allowed: ${checked.refused.replaceAll('_', ' ')}`
    throw problem('webhook-url-forbidden', { errors: [{ pointer: '/url', detail, code: checked.refused }] })
  }
}
