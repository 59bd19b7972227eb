import { example, type Define } from '../command-options.ts'

export interface ErasuresOrder {
  readonly action: 'export'
}

export const defineErasures: Define<ErasuresOrder> = (erasures, choose) => {
  const exported = erasures
    .command('export')
    .description(
      'The ledger of erasures, one signed line of JSON for each person. Keep it apart from the backups: backup restore takes it as --erasures FILE.',
    )
    .action(() => choose({ action: 'export' }))
  example(exported, 'erasures export > erasures.jsonl')
}
