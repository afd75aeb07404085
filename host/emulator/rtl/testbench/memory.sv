// The memories of a board and the bus to its devices: flash at 0x80000000, RAM at 0x80800000, and a small ROM at the
// address 0x80 at which the core starts. The core's two ports do not wait for each other.
module memory (
    input  logic        clk,
    input  logic        rst_n,
    input  logic [1:0]  flash_wait,
    input  logic [1:0]  ram_wait,
    input  logic        instr_req,
    output logic        instr_gnt,
    output logic        instr_rvalid,
    input  logic [31:0] instr_addr,
    output logic [31:0] instr_rdata,
    input  logic        data_req,
    output logic        data_gnt,
    output logic        data_rvalid,
    input  logic        data_we,
    input  logic [3:0]  data_be,
    input  logic [31:0] data_addr,
    input  logic [31:0] data_wdata,
    output logic [31:0] data_rdata
);
  import "DPI-C" function int device_read(input int address);
  import "DPI-C" function void device_write(input int address, input int data);
  import "DPI-C" function void bus_error(input int address, input int is_write);

  logic [31:0] flash[0:1048575]  /*verilator public_flat_rw*/;
  logic [31:0] ram[0:131071]  /*verilator public_flat_rw*/;

  function automatic logic is_flash(input logic [31:0] address);
    return address[31:22] == 10'h200;
  endfunction
  function automatic logic is_ram(input logic [31:0] address);
    return address[31:19] == 13'h1010;
  endfunction
  function automatic logic [1:0] wait_of(input logic [31:0] address);
    return is_flash(address) ? flash_wait : is_ram(address) ? ram_wait : 2'd0;
  endfunction

  // The counters of CV32E40P stand still after a reset. The ROM starts them, then jumps to the firmware.
  function automatic logic [31:0] boot_rom(input logic [31:0] address);
    case (address[3:2])
      2'd0: return 32'h32005073;  // csrwi mcountinhibit, 0
      2'd1: return 32'h800002b7;  // lui t0, 0x80000
      default: return 32'h00028067;  // jr t0
    endcase
  endfunction

  memory_port instr_port (
      .clk(clk),
      .rst_n(rst_n),
      .req(instr_req),
      .wait_states(wait_of(instr_addr)),
      .gnt(instr_gnt),
      .rvalid(instr_rvalid)
  );
  memory_port data_port (
      .clk(clk),
      .rst_n(rst_n),
      .req(data_req),
      .wait_states(wait_of(data_addr)),
      .gnt(data_gnt),
      .rvalid(data_rvalid)
  );

  // A core fetches ahead of a jump, so it may fetch from addresses without memory.
  always_ff @(posedge clk) begin
    if (instr_gnt) begin
      if (is_flash(instr_addr)) instr_rdata <= flash[instr_addr[21:2]];
      else if (is_ram(instr_addr)) instr_rdata <= ram[instr_addr[18:2]];
      else instr_rdata <= boot_rom(instr_addr);
    end
  end

  always_ff @(posedge clk) begin
    if (data_gnt) begin
      if (is_ram(data_addr)) begin
        if (data_we) begin
          if (data_be[0]) ram[data_addr[18:2]][7:0] <= data_wdata[7:0];
          if (data_be[1]) ram[data_addr[18:2]][15:8] <= data_wdata[15:8];
          if (data_be[2]) ram[data_addr[18:2]][23:16] <= data_wdata[23:16];
          if (data_be[3]) ram[data_addr[18:2]][31:24] <= data_wdata[31:24];
        end else data_rdata <= ram[data_addr[18:2]];
      end else if (is_flash(data_addr) && !data_we) data_rdata <= flash[data_addr[21:2]];
      else if (data_addr[31:8] == 24'h100000) begin
        // The lowest enabled byte is the register of the device.
        if (data_we) device_write({data_addr[31:2], first_byte(data_be)}, data_wdata);
        else data_rdata <= device_read({data_addr[31:2], first_byte(data_be)});
      end else bus_error(data_addr, 32'(data_we));
    end
  end

  function automatic logic [1:0] first_byte(input logic [3:0] enabled);
    return enabled[0] ? 2'd0 : enabled[1] ? 2'd1 : enabled[2] ? 2'd2 : 2'd3;
  endfunction
endmodule
