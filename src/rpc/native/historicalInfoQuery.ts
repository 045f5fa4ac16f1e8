import { STAKING_PARAMS } from '../../modules/staking/params.ts'
import { validatorToSdk } from '../../modules/staking/sdkForms.ts'
import { SdkValidator } from '../../modules/staking/types.ts'
import { getValidatorByConsensus } from '../../modules/staking/validators.ts'
import { defineMessage, embedded, int64, message, repeated } from '../../primitives/protoSchema.ts'
import { Journal } from '../../state/journal.ts'
import { headerFields } from './blockMessages.ts'
import { Header } from './messages/cometTypes.ts'
import { defineQuery, type NativeQuery } from './query.ts'
import { invalidArgument, notFound } from './queryError.ts'

const HistoricalInfo = defineMessage('cosmos.staking.v1beta1.HistoricalInfo', {
  header: embedded(1, Header),
  valset: repeated(embedded(2, SdkValidator)),
})

/**
 * The header and the validators of one of the last `historical_entries` blocks. Nothing is stored for it: both are in the blocks'
 * records, and what staking knew of those validators is in the state after that block.
 */
export const historicalInfoQuery: NativeQuery = defineQuery({
  service: 'cosmos.staking.v1beta1.Query',
  name: 'HistoricalInfo',
  get: ['/cosmos/staking/v1beta1/historical_info/{height}'],
  request: { height: int64(1) },
  response: { hist: message(1, HistoricalInfo) },
  run: ({ world, block, chain, rpc }, { height: asked }) => {
    if (asked < 0n) throw invalidArgument('height cannot be negative')
    const { historicalEntries } = STAKING_PARAMS.get(world.native)
    const isKept = asked > 0n && asked <= block.height && asked > block.height - historicalEntries
    const header = isKept ? chain.consensusBlock(Number(asked))?.header : undefined
    const set = isKept ? chain.validatorSetAt(Number(asked)) : undefined
    if (header === undefined || set === undefined) throw notFound(`historical info for height ${asked} not found`)
    const { native } = new Journal(rpc.view.stateAt(Number(asked)))
    const valset = set.validators.flatMap(({ address }) => getValidatorByConsensus(native, address) ?? [])
    return {
      hist: {
        header: { ...headerFields(header), proposerAddress: header.proposerAddress },
        valset: valset.map(validatorToSdk),
      },
    }
  },
})
