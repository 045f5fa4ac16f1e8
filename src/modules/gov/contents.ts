import { defineMessage, embedded, message, repeated, string } from '../../primitives/protoSchema.ts'
import { Coin } from '../coin.ts'
import { Plan } from '../upgrade/types.ts'

/** What a v1beta1 proposal says: the contents of x/{gov,params,distribution,upgrade} of SDK 0.50. */

export const TextProposal = defineMessage('cosmos.gov.v1beta1.TextProposal', {
  title: string(1),
  description: string(2),
})

export const ParamChange = defineMessage('cosmos.params.v1beta1.ParamChange', {
  /** a module's name, or baseapp for consensus parameters */
  subspace: string(1),
  key: string(2),
  /** JSON */
  value: string(3),
})
export const ParameterChangeProposal = defineMessage('cosmos.params.v1beta1.ParameterChangeProposal', {
  title: string(1),
  description: string(2),
  changes: repeated(message(3, ParamChange)),
})

export const CommunityPoolSpendProposal = defineMessage('cosmos.distribution.v1beta1.CommunityPoolSpendProposal', {
  title: string(1),
  description: string(2),
  recipient: string(3),
  amount: repeated(message(4, Coin)),
})

export const SoftwareUpgradeProposal = defineMessage('cosmos.upgrade.v1beta1.SoftwareUpgradeProposal', {
  title: string(1),
  description: string(2),
  plan: embedded(3, Plan),
})

export const CancelSoftwareUpgradeProposal = defineMessage('cosmos.upgrade.v1beta1.CancelSoftwareUpgradeProposal', {
  title: string(1),
  description: string(2),
})

/** Contents with their names in amino JSON. */
export const CONTENT_TYPES = [
  { type: TextProposal, aminoName: 'cosmos-sdk/TextProposal' },
  { type: ParameterChangeProposal, aminoName: 'cosmos-sdk/ParameterChangeProposal' },
  { type: CommunityPoolSpendProposal, aminoName: CommunityPoolSpendProposal.typeUrl },
  { type: SoftwareUpgradeProposal, aminoName: 'cosmos-sdk/SoftwareUpgradeProposal' },
  { type: CancelSoftwareUpgradeProposal, aminoName: 'cosmos-sdk/CancelSoftwareUpgradeProposal' },
] as const
