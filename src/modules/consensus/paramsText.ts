import type { ProposedParams } from './params.ts'

const NANOS_PER_SECOND = 1_000_000_000n

/** Consensus parameters as the event of their change shows them: gogoproto's text form, which leaves zeros out. */
export function paramsText({ block, evidence, validator, abci }: ProposedParams): string {
  const { maxAgeNumBlocks = 0n, maxAgeDuration = 0n, maxBytes = 0n } = evidence ?? {}
  const age = number('seconds', maxAgeDuration / NANOS_PER_SECOND) + number('nanos', maxAgeDuration % NANOS_PER_SECOND)
  const keyTypes = (validator?.pubKeyTypes ?? []).map((type) => `pub_key_types:${JSON.stringify(type)} `).join('')
  const sections = [
    `block:<${number('max_bytes', block?.maxBytes)}${number('max_gas', block?.maxGas)}> `,
    `evidence:<${number('max_age_num_blocks', maxAgeNumBlocks)}max_age_duration:<${age}> ${number('max_bytes', maxBytes)}> `,
    `validator:<${keyTypes}> `,
    'version:<> ',
    abci === undefined ? '' : `abci:<${number('vote_extensions_enable_height', abci.voteExtensionsEnableHeight)}> `,
  ]
  return sections.join('')
}

function number(name: string, value: bigint | undefined): string {
  return value === undefined || value === 0n ? '' : `${name}:${value} `
}
