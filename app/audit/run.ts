import type { Environment } from '../../platform/configuration/configuration.ts'
import type { Verdict } from './check-command.ts'
import type { AuditOrder } from './orders.ts'

/**
 * Loads only what the command needs: a check of a proof needs no server.
 * @param say receives what is no result
 */
export async function runAudit(
  order: AuditOrder,
  env: Environment,
  print: (line: string) => void,
  say: (line: string) => void,
): Promise<Verdict> {
  switch (order.action) {
    case 'timeline': {
      const { timelineLines } = await import('./timeline-command.ts')
      for await (const line of timelineLines(env, order, say)) print(line)
      return { code: 0, text: '' }
    }
    case 'as-of': {
      const { asOfText } = await import('./as-of-command.ts')
      return { code: 0, text: await asOfText(env, order) }
    }
    case 'export': {
      const { exportToFolder } = await import('./export-command.ts')
      const { files, bytes } = await exportToFolder(env, order)
      const text = `${files} files with ${bytes} bytes are in ${order.folder}`
      return { code: 0, text: order.isJson ? JSON.stringify({ folder: order.folder, files, bytes }) : text }
    }
    case 'provenance': {
      const { provenanceText } = await import('./provenance-command.ts')
      return { code: 0, text: await provenanceText(env, order) }
    }
    case 'check': {
      const { checkFile } = await import('./check-command.ts')
      return checkFile(order)
    }
    case 'accept-older-log': {
      const { acceptOlderLog } = await import('./accept-older-log.ts')
      return { code: 0, text: JSON.stringify(await acceptOlderLog(env, order), null, 2) }
    }
    case 'verify': {
      const { verificationText, verifyConfiguredLog } = await import('./verify-command.ts')
      const verification = await verifyConfiguredLog(env, order, say)
      const text = order.isJson ? JSON.stringify(verification, null, 2) : verificationText(verification)
      return { code: verification.faults.length === 0 ? 0 : 1, text }
    }
  }
}
