import type { Genesis } from '../../chain/genesisSchema.ts'
import type { ModuleContext } from '../context.ts'
import { CONSTITUTION_KEY } from './keys.ts'
import { GOV_PARAMS, validateGovParams } from './params.ts'
import { setNextProposalId } from './proposals.ts'
import { Params } from './types.ts'

/**
 * Writes the module's part of block 0.
 * @throws Error when the genesis has parameters that cannot stand
 */
export function initGov(
  { world: { native } }: ModuleContext,
  section: Pick<Genesis['app_state']['gov'], 'starting_proposal_id' | 'params' | 'constitution'>,
): void {
  const params = Params.fromJson(section.params, { typeOf: () => undefined }, 'app_state.gov.params')
  const problem = validateGovParams(params)
  if (problem !== undefined) throw new Error(`app_state.gov.params: ${problem.message}`)
  GOV_PARAMS.set(native, params)
  setNextProposalId(native, BigInt(section.starting_proposal_id))
  if (section.constitution !== '') native.set(CONSTITUTION_KEY, new TextEncoder().encode(section.constitution))
}

/** The text that the genesis gave the chain; '' when none. */
export function getConstitution(native: Pick<ModuleContext['world']['native'], 'get'>): string {
  return new TextDecoder().decode(native.get(CONSTITUTION_KEY))
}
