import { render } from 'preact'
import { Console } from './shell/console.js'
import { applyTheme } from './shell/theme.js'

applyTheme()
const root = document.getElementById('console')
if (root !== null) render(<Console />, root)
