import type { ReadContext } from '../context.ts'
import { consensusAddressOf, getValidatorByConsensus, validators } from '../staking/validators.ts'
import { SLASHING_PARAMS } from './params.ts'
import { countBits, getSigningRecord, missedCount, signingRecords } from './signingInfo.ts'

/**
 * Checks the invariants of signing infos over the whole state.
 * @returns those that are broken
 */
export function slashingInvariants({ world: { native } }: ReadContext): readonly string[] {
  const problems: string[] = []
  const { signedBlocksWindow } = SLASHING_PARAMS.get(native)
  for (const [address, { tombstoned }] of signingRecords(native)) {
    const name = Buffer.from(address).toString('hex')
    const count = missedCount(native, address)
    const validator = getValidatorByConsensus(native, address)
    const bits = validator === undefined ? 0 : countBits(native, validator.operator)
    if (bits !== count) problems.push(`${name} missed ${count} blocks but has ${bits} bits`)
    if (BigInt(count) > signedBlocksWindow) problems.push(`${name} missed ${count} blocks of ${signedBlocksWindow}`)
    if (tombstoned && validator?.jailed === false) problems.push(`${name} is tombstoned and not jailed`)
  }
  for (const validator of validators(native)) {
    const address = consensusAddressOf(validator)
    if (validator.status === 'bonded' && getSigningRecord(native, address) === undefined) {
      problems.push(`${Buffer.from(address).toString('hex')} is bonded and has no signing info`)
    }
  }
  return problems
}
