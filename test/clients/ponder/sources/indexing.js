import { ponder } from 'ponder:registry'
import { call, transfer } from 'ponder:schema'

ponder.on('Token:Transfer', async ({ event, context }) => {
  const { value } = event.args
  await context.db.insert(transfer).values({ id: event.id, value, gasUsed: event.transactionReceipt.gasUsed })
})

ponder.on('Token.transfer()', async ({ event, context }) => {
  const [, value] = event.args
  await context.db.insert(call).values({ id: event.id, value, gasUsed: event.trace.gasUsed })
})
