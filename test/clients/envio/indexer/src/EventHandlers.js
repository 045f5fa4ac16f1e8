const { Token } = require('generated')

Token.Transfer.handler(async ({ event, context }) => {
  context.Movement.set({
    id: `${event.block.number}-${event.logIndex}`,
    from: event.params.from,
    to: event.params.to,
    value: event.params.value,
    transaction: event.transaction.hash,
    block: event.block.number,
  })
})
