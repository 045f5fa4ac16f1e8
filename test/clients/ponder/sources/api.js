import { db } from 'ponder:api'
import { call, transfer } from 'ponder:schema'
import { Hono } from 'hono'

const app = new Hono()
app.get('/rows', async (context) => {
  const [transfers, calls] = [await db.select().from(transfer), await db.select().from(call)]
  return context.body(
    JSON.stringify({ transfers, calls }, (_, value) => (typeof value === 'bigint' ? String(value) : value)),
  )
})
export default app
