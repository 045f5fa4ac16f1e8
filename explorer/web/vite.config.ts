import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'

/** Builds the explorer's pages to dist/web. `vite explorer/web` serves them while they are written, with the API of an explorer on port 8090. */
export default defineConfig({
  root: import.meta.dirname,
  plugins: [react()],
  build: {
    outDir: '../../dist/web',
    emptyOutDir: true,
    target: 'es2022',
    // Nothing inline: the content security policy allows no such script or style.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    // CosmJS, which only the pages of wallets load. test/browser looks at what everybody loads.
    chunkSizeWarningLimit: 1_500,
  },
  server: { proxy: { '/api': 'http://localhost:8090' } },
})
