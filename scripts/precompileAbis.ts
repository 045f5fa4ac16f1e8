import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { compileContract } from '../contracts/compile.ts'

/*
 * Writes the ABIs of the precompiles, by their addresses in lower case, for the explorer's pages, which show calls and logs of them by
 * names. `npm run generate` runs it; a test compares the file with the Solidity interfaces.
 */

const INTERFACES = {
  '0x0000000000000000000000000000000000000400': 'IBech32',
  '0x0000000000000000000000000000000000000800': 'IStaking',
  '0x0000000000000000000000000000000000000801': 'IDistribution',
  '0x0000000000000000000000000000000000000804': 'IBank',
  '0x0000000000000000000000000000000000000805': 'IGov',
  '0x0000000000000000000000000000000000000806': 'ISlashing',
  '0xeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee': 'ICoinToken',
} as const

export const PRECOMPILE_ABIS = join(import.meta.dirname, '../explorer/web/src/abi/precompiles.json')

/** Returns the text of {@link PRECOMPILE_ABIS}. */
export function precompileAbis(): string {
  const abis = Object.entries(INTERFACES).map(([address, name]) => {
    const { abi } = compileContract(`${name}.sol`, name)
    return `  "${address}": [\n${abi.map((entry) => `    ${JSON.stringify(entry)}`).join(',\n')}\n  ]`
  })
  return `{\n${abis.join(',\n')}\n}\n`
}

if (import.meta.main) writeFileSync(PRECOMPILE_ABIS, precompileAbis())
