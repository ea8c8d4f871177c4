package host

// What Node.js 20 (ICU 78) answers for each expression, with ¦ between the
// answers; L is the locale. ⍽ is a no-break space, ⎵ a narrow one, ⌴ a thin one.
var localeNumbersCode = []string{
	`(1234567.891).toLocaleString(L)`,
	`(1234.5).toLocaleString(L)`,
	`(-9876.5).toLocaleString(L)`,
	`(0).toLocaleString(L)`,
	`(12345.678).toLocaleString(L, {maximumFractionDigits: 1})`,
	`(1234).toLocaleString(L, {useGrouping: false})`,
	`(1234).toLocaleString(L, {minimumFractionDigits: 2})`,
	`(0.256).toLocaleString(L, {style: "percent"})`,
	`(-0.256).toLocaleString(L, {style: "percent", maximumFractionDigits: 1})`,
	`(1234.5).toLocaleString(L, {style: "currency", currency: "EUR"})`,
	`(-1234.5).toLocaleString(L, {style: "currency", currency: "EUR"})`,
	`(1234.5).toLocaleString(L, {style: "currency", currency: "USD"})`,
	`(1234.5).toLocaleString(L, {style: "currency", currency: "JPY"})`,
	`(9.99).toLocaleString(L, {style: "currency", currency: "CHF"})`,
	`(1e6).toLocaleString(L, {style: "currency", currency: "INR", maximumFractionDigits: 0})`,
	`(5).toLocaleString(L, {style: "currency", currency: "GBP", currencyDisplay: "code"})`,
	`(5).toLocaleString(L, {style: "currency", currency: "SEK", currencyDisplay: "narrowSymbol"})`,
	`(-5).toLocaleString(L, {style: "currency", currency: "EUR", currencySign: "accounting"})`,
	`new Intl.NumberFormat(L, {notation: "compact"}).format(1234567)`,
	`new Intl.NumberFormat(L, {notation: "compact"}).format(98765)`,
	`new Intl.NumberFormat(L, {notation: "compact"}).format(999999)`,
	`new Intl.NumberFormat(L, {maximumSignificantDigits: 3}).format(123456)`,
	`new Intl.NumberFormat(L).format(12345678901234567890n)`,
	`new Intl.NumberFormat(L).format(NaN) + new Intl.NumberFormat(L).format(-Infinity)`,
	`new Intl.NumberFormat(L, {signDisplay: "always"}).format(5)`,
	`new Intl.NumberFormat(L, {style: "currency", currency: "EUR"}).formatToParts(-1234.5).map((p) => p.type + "=" + p.value).join(";")`,
}

var localeNumbers = map[string]string{
	"en-GB": `
1,234,567.891¦1,234.5¦-9,876.5¦0¦12,345.7¦1234¦1,234.00¦26%¦-25.6%¦€1,234.50¦-€1,234.50¦US$1,234.50¦JP¥1,235¦
CHF⍽9.99¦₹1,000,000¦GBP⍽5.00¦kr⍽5.00¦(€5.00)¦1.2m¦99k¦1m¦123,000¦12,345,678,901,234,567,890¦NaN-∞¦+5¦
minusSign=-;currency=€;integer=1;group=,;integer=234;decimal=.;fraction=50`,
	"de-DE": `
1.234.567,891¦1.234,5¦-9.876,5¦0¦12.345,7¦1234¦1.234,00¦26⍽%¦-25,6⍽%¦1.234,50⍽€¦-1.234,50⍽€¦1.234,50⍽$¦1.235⍽¥¦
9,99⍽CHF¦1.000.000⍽₹¦5,00⍽GBP¦5,00⍽kr¦-5,00⍽€¦1,2⍽Mio.¦98.765¦999.999¦123.000¦12.345.678.901.234.567.890¦NaN-∞¦+5¦
minusSign=-;integer=1;group=.;integer=234;decimal=,;fraction=50;literal=⍽;currency=€`,
	"de-AT": `
1⍽234⍽567,891¦1⍽234,5¦-9⍽876,5¦0¦12⍽345,7¦1234¦1⍽234,00¦26⍽%¦-25,6⍽%¦€⍽1.234,50¦-€⍽1.234,50¦$⍽1.234,50¦¥⍽1.235¦
CHF⍽9,99¦₹⍽1.000.000¦GBP⍽5,00¦kr⍽5,00¦-€⍽5,00¦1,2⍽Mio.¦98⍽765¦999⍽999¦123⍽000¦12⍽345⍽678⍽901⍽234⍽567⍽890¦NaN-∞¦+5¦
minusSign=-;currency=€;literal=⍽;integer=1;group=.;integer=234;decimal=,;fraction=50`,
	"de-CH": `
1'234'567.891¦1'234.5¦-9'876.5¦0¦12'345.7¦1234¦1'234.00¦26%¦-25.6%¦EUR⍽1'234.50¦EUR-1'234.50¦$⍽1'234.50¦¥⍽1'235¦
CHF⍽9.99¦₹⍽1'000'000¦GBP⍽5.00¦kr⍽5.00¦EUR-5.00¦1.2⍽Mio.¦98'765¦999'999¦123'000¦12'345'678'901'234'567'890¦NaN-∞¦+5¦
currency=EUR;minusSign=-;integer=1;group=';integer=234;decimal=.;fraction=50`,
	"fr-FR": `
1⎵234⎵567,891¦1⎵234,5¦-9⎵876,5¦0¦12⎵345,7¦1234¦1⎵234,00¦26⍽%¦-25,6⍽%¦1⎵234,50⍽€¦-1⎵234,50⍽€¦1⎵234,50⍽$US¦1⎵235⍽JPY¦
9,99⍽CHF¦1⎵000⎵000⍽₹¦5,00⍽GBP¦5,00⍽kr¦(5,00⍽€)¦1,2⍽M¦99⍽k¦1⍽M¦123⎵000¦12⎵345⎵678⎵901⎵234⎵567⎵890¦NaN-∞¦+5¦
minusSign=-;integer=1;group=⎵;integer=234;decimal=,;fraction=50;literal=⍽;currency=€`,
	"es-ES": `
1.234.567,891¦1234,5¦-9876,5¦0¦12.345,7¦1234¦1234,00¦26⍽%¦-25,6⍽%¦1234,50⍽€¦-1234,50⍽€¦1234,50⍽US$¦1235⍽JPY¦9,99⍽CHF¦
1.000.000⍽INR¦5,00⍽GBP¦5,00⍽kr¦-5,00⍽€¦1,2⍽M¦99⍽mil¦1⍽M¦123.000¦12.345.678.901.234.567.890¦NaN-∞¦+5¦
minusSign=-;integer=1234;decimal=,;fraction=50;literal=⍽;currency=€`,
	"es-MX": `
1,234,567.891¦1,234.5¦-9,876.5¦0¦12,345.7¦1234¦1,234.00¦26%¦-25.6%¦EUR⍽1,234.50¦-EUR⍽1,234.50¦USD⍽1,234.50¦JPY⍽1,235¦
CHF⍽9.99¦INR⍽1,000,000¦GBP⍽5.00¦kr⍽5.00¦-EUR⍽5.00¦1.2⍽M¦99⍽k¦1⍽M¦123,000¦12,345,678,901,234,567,890¦NaN-∞¦+5¦
minusSign=-;currency=EUR;literal=⍽;integer=1;group=,;integer=234;decimal=.;fraction=50`,
	"it-IT": `
1.234.567,891¦1234,5¦-9876,5¦0¦12.345,7¦1234¦1234,00¦26%¦-25,6%¦1234,50⍽€¦-1234,50⍽€¦1234,50⍽USD¦1235⍽JPY¦9,99⍽CHF¦
1.000.000⍽INR¦5,00⍽GBP¦5,00⍽kr¦-5,00⍽€¦1,2⍽Mln¦99K¦1⍽Mln¦123.000¦12.345.678.901.234.567.890¦NaN-∞¦+5¦
minusSign=-;integer=1234;decimal=,;fraction=50;literal=⍽;currency=€`,
	"pt-BR": `
1.234.567,891¦1.234,5¦-9.876,5¦0¦12.345,7¦1234¦1.234,00¦26%¦-25,6%¦€⍽1.234,50¦-€⍽1.234,50¦US$⍽1.234,50¦JP¥⍽1.235¦
CHF⍽9,99¦₹⍽1.000.000¦GBP⍽5,00¦kr⍽5,00¦-€⍽5,00¦1,2⍽mi¦99⍽mil¦1⍽mi¦123.000¦12.345.678.901.234.567.890¦NaN-∞¦+5¦
minusSign=-;currency=€;literal=⍽;integer=1;group=.;integer=234;decimal=,;fraction=50`,
	"pt-PT": `
1⍽234⍽567,891¦1234,5¦-9876,5¦0¦12⍽345,7¦1234¦1234,00¦26%¦-25,6%¦1234,50⍽€¦-1234,50⍽€¦1234,50⍽US$¦1235⍽JP¥¦9,99⍽CHF¦
1⍽000⍽000⍽₹¦5,00⍽GBP¦5,00⍽kr¦(5,00⍽€)¦1,2⍽M¦99⍽mil¦1⍽M¦123⍽000¦12⍽345⍽678⍽901⍽234⍽567⍽890¦NaN-∞¦+5¦
minusSign=-;integer=1234;decimal=,;fraction=50;literal=⍽;currency=€`,
	"nl-NL": `
1.234.567,891¦1.234,5¦-9.876,5¦0¦12.345,7¦1234¦1.234,00¦26%¦-25,6%¦€⍽1.234,50¦€⍽-1.234,50¦US$⍽1.234,50¦JP¥⍽1.235¦
CHF⍽9,99¦₹⍽1.000.000¦GBP⍽5,00¦kr⍽5,00¦(€⍽5,00)¦1,2⍽mln.¦99K¦1⍽mln.¦123.000¦12.345.678.901.234.567.890¦NaN-∞¦+5¦
currency=€;literal=⍽;minusSign=-;integer=1;group=.;integer=234;decimal=,;fraction=50`,
	"sv-SE": `
1⍽234⍽567,891¦1⍽234,5¦−9⍽876,5¦0¦12⍽345,7¦1234¦1⍽234,00¦26⍽%¦−25,6⍽%¦1⍽234,50⍽€¦−1⍽234,50⍽€¦1⍽234,50⍽US$¦1⍽235⍽JPY¦
9,99⍽CHF¦1⍽000⍽000⍽INR¦5,00⍽GBP¦5,00⍽kr¦−5,00⍽€¦1,2⍽mn¦99⍽tn¦1⍽mn¦123⍽000¦12⍽345⍽678⍽901⍽234⍽567⍽890¦NaN−∞¦+5¦
minusSign=−;integer=1;group=⍽;integer=234;decimal=,;fraction=50;literal=⍽;currency=€`,
	"da-DK": `
1.234.567,891¦1.234,5¦-9.876,5¦0¦12.345,7¦1234¦1.234,00¦26⍽%¦-25,6⍽%¦1.234,50⍽€¦-1.234,50⍽€¦1.234,50⍽US$¦1.235⍽JP¥¦
9,99⍽CHF¦1.000.000⍽₹¦5,00⍽GBP¦5,00⍽kr.¦-5,00⍽€¦1,2⍽mio.¦99⍽t¦1⍽mio.¦123.000¦12.345.678.901.234.567.890¦NaN-∞¦+5¦
minusSign=-;integer=1;group=.;integer=234;decimal=,;fraction=50;literal=⍽;currency=€`,
	"nb-NO": `
1⍽234⍽567,891¦1⍽234,5¦−9⍽876,5¦0¦12⍽345,7¦1234¦1⍽234,00¦26⍽%¦−25,6⍽%¦1⍽234,50⍽€¦−1⍽234,50⍽€¦1⍽234,50⍽USD¦1⍽235⍽JPY¦
9,99⍽CHF¦1⍽000⍽000⍽INR¦5,00⍽GBP¦5,00⍽kr¦(€⍽5,00)¦1,2⍽mill.¦99k¦1⍽mill.¦123⍽000¦12⍽345⍽678⍽901⍽234⍽567⍽890¦NaN−∞¦+5¦
minusSign=−;integer=1;group=⍽;integer=234;decimal=,;fraction=50;literal=⍽;currency=€`,
	"fi-FI": `
1⍽234⍽567,891¦1⍽234,5¦−9⍽876,5¦0¦12⍽345,7¦1234¦1⍽234,00¦26⍽%¦−25,6⍽%¦1⍽234,50⍽€¦−1⍽234,50⍽€¦1⍽234,50⍽$¦1⍽235⍽¥¦
9,99⍽CHF¦1⍽000⍽000⍽INR¦5,00⍽GBP¦5,00⍽SEK¦−5,00⍽€¦1,2⍽milj.¦99⍽t.¦1⍽milj.¦123⍽000¦12⍽345⍽678⍽901⍽234⍽567⍽890¦
epäluku−∞¦+5¦minusSign=−;integer=1;group=⍽;integer=234;decimal=,;fraction=50;literal=⍽;currency=€`,
	"pl-PL": `
1⍽234⍽567,891¦1234,5¦-9876,5¦0¦12⍽345,7¦1234¦1234,00¦26%¦-25,6%¦1234,50⍽€¦-1234,50⍽€¦1234,50⍽USD¦1235⍽JPY¦9,99⍽CHF¦
1⍽000⍽000⍽INR¦5,00⍽GBP¦5,00⍽kr¦(5,00⍽€)¦1,2⍽mln¦99⍽tys.¦1⍽mln¦123⍽000¦12⍽345⍽678⍽901⍽234⍽567⍽890¦NaN-∞¦+5¦
minusSign=-;integer=1234;decimal=,;fraction=50;literal=⍽;currency=€`,
	"cs-CZ": `
1⍽234⍽567,891¦1⍽234,5¦-9⍽876,5¦0¦12⍽345,7¦1234¦1⍽234,00¦26⍽%¦-25,6⍽%¦1⍽234,50⍽€¦-1⍽234,50⍽€¦1⍽234,50⍽US$¦1⍽235⍽JP¥¦
9,99⍽CHF¦1⍽000⍽000⍽INR¦5,00⍽GBP¦5,00⍽kr¦-5,00⍽€¦1,2⍽mil.¦99⍽tis.¦1⍽mil.¦123⍽000¦12⍽345⍽678⍽901⍽234⍽567⍽890¦NaN-∞¦+5¦
minusSign=-;integer=1;group=⍽;integer=234;decimal=,;fraction=50;literal=⍽;currency=€`,
	"tr-TR": `
1.234.567,891¦1.234,5¦-9.876,5¦0¦12.345,7¦1234¦1.234,00¦%26¦-%25,6¦€1.234,50¦-€1.234,50¦$1.234,50¦¥1.235¦CHF⍽9,99¦
₹1.000.000¦GBP⍽5,00¦kr⍽5,00¦-€5,00¦1,2⍽Mn¦99⍽B¦1⍽Mn¦123.000¦12.345.678.901.234.567.890¦NaN-∞¦+5¦
minusSign=-;currency=€;integer=1;group=.;integer=234;decimal=,;fraction=50`,
	"ru-RU": `
1⍽234⍽567,891¦1⍽234,5¦-9⍽876,5¦0¦12⍽345,7¦1234¦1⍽234,00¦26⍽%¦-25,6⍽%¦1⍽234,50⍽€¦-1⍽234,50⍽€¦1⍽234,50⍽$¦1⍽235⍽¥¦
9,99⍽CHF¦1⍽000⍽000⍽₹¦5,00⍽GBP¦5,00⍽kr¦-5,00⍽€¦1,2⍽млн¦99⍽тыс.¦1⍽млн¦123⍽000¦12⍽345⍽678⍽901⍽234⍽567⍽890¦не⍽число-∞¦+5¦
minusSign=-;integer=1;group=⍽;integer=234;decimal=,;fraction=50;literal=⍽;currency=€`,
	"uk-UA": `
1⍽234⍽567,891¦1⍽234,5¦-9⍽876,5¦0¦12⍽345,7¦1234¦1⍽234,00¦26%¦-25,6%¦1⍽234,50⍽EUR¦-1⍽234,50⍽EUR¦1⍽234,50⍽USD¦1⍽235⍽¥¦
9,99⍽CHF¦1⍽000⍽000⍽INR¦5,00⍽GBP¦5,00⍽kr¦-5,00⍽EUR¦1,2⍽млн¦99⍽тис.¦1⍽млн¦123⍽000¦12⍽345⍽678⍽901⍽234⍽567⍽890¦NaN-∞¦+5¦
minusSign=-;integer=1;group=⍽;integer=234;decimal=,;fraction=50;literal=⍽;currency=EUR`,
	"ja-JP": `
1,234,567.891¦1,234.5¦-9,876.5¦0¦12,345.7¦1234¦1,234.00¦26%¦-25.6%¦€1,234.50¦-€1,234.50¦$1,234.50¦￥1,235¦CHF⍽9.99¦
₹1,000,000¦GBP⍽5.00¦kr⍽5.00¦(€5.00)¦123万¦9.9万¦100万¦123,000¦12,345,678,901,234,567,890¦NaN-∞¦+5¦
minusSign=-;currency=€;integer=1;group=,;integer=234;decimal=.;fraction=50`,
	"ko-KR": `
1,234,567.891¦1,234.5¦-9,876.5¦0¦12,345.7¦1234¦1,234.00¦26%¦-25.6%¦€1,234.50¦-€1,234.50¦US$1,234.50¦JP¥1,235¦
CHF⍽9.99¦₹1,000,000¦GBP⍽5.00¦kr⍽5.00¦(€5.00)¦123만¦9.9만¦100만¦123,000¦12,345,678,901,234,567,890¦NaN-∞¦+5¦
minusSign=-;currency=€;integer=1;group=,;integer=234;decimal=.;fraction=50`,
	"zh-CN": `
1,234,567.891¦1,234.5¦-9,876.5¦0¦12,345.7¦1234¦1,234.00¦26%¦-25.6%¦€1,234.50¦-€1,234.50¦US$1,234.50¦JP¥1,235¦
CHF⍽9.99¦₹1,000,000¦GBP⍽5.00¦kr⍽5.00¦(€5.00)¦123万¦9.9万¦100万¦123,000¦12,345,678,901,234,567,890¦NaN-∞¦+5¦
minusSign=-;currency=€;integer=1;group=,;integer=234;decimal=.;fraction=50`,
	"zh-TW": `
1,234,567.891¦1,234.5¦-9,876.5¦0¦12,345.7¦1234¦1,234.00¦26%¦-25.6%¦€1,234.50¦-€1,234.50¦US$1,234.50¦¥1,235¦CHF⍽9.99¦
₹1,000,000¦GBP⍽5.00¦kr⍽5.00¦(€5.00)¦123萬¦9.9萬¦100萬¦123,000¦12,345,678,901,234,567,890¦非數值-∞¦+5¦
minusSign=-;currency=€;integer=1;group=,;integer=234;decimal=.;fraction=50`,
	"hi-IN": `
12,34,567.891¦1,234.5¦-9,876.5¦0¦12,345.7¦1234¦1,234.00¦26%¦-25.6%¦€1,234.50¦-€1,234.50¦$1,234.50¦JP¥1,235¦CHF⍽9.99¦
₹10,00,000¦GBP⍽5.00¦kr⍽5.00¦-€5.00¦12⍽लाख¦99⍽हज़ार¦10⍽लाख¦1,23,000¦1,23,45,67,89,01,23,45,67,890¦NaN-∞¦+5¦
minusSign=-;currency=€;integer=1;group=,;integer=234;decimal=.;fraction=50`,
}
