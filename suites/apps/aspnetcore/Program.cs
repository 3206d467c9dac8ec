// GET /test answers "test": ASP.NET Core on Kestrel. It listens on PORT of 127.0.0.1.
//   --version   prints what it runs on, and ends
using System.Net;
using System.Runtime.InteropServices;

if (args.Contains("--version"))
{
    Console.WriteLine($"ASP.NET Core on {RuntimeInformation.FrameworkDescription}");
    return;
}

var port = int.Parse(Environment.GetEnvironmentVariable("PORT")!);

var builder = WebApplication.CreateBuilder();
builder.Logging.ClearProviders();
builder.WebHost.ConfigureKestrel(kestrel => kestrel.Listen(IPAddress.Loopback, port));

var app = builder.Build();
app.MapGet("/test", () => "test");
app.Run();          // until SIGTERM
